import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "Logins last" and "Messages reach their receivers". */
export const LOGINS: readonly Breaking[] = [
  {
    promise: 'Only a definite refusal of the service ends a login; timeouts and its own errors do not',
    in: 'src/service/refresh-tokens.ts',
    from: 'if (!(error instanceof CredentialsRejectedError)) return fail(deps, account, held, error)',
    to: 'if (!(error instanceof CredentialsRejectedError)) return park(deps, account, held)',
  },
  {
    promise:
      '… and 401 answers to new tokens do not, for seconds or days: musette goes on by itself when they end',
    in: 'src/service/refresh-tokens.ts',
    from: 'return needsLogin && refusals === 0',
    to: 'return needsLogin || refusals > 0',
  },
  {
    promise:
      'An account takes the tokens of its own rider only; with those of another one nothing is read, written or sent',
    in: 'src/service/assert-rider.ts',
    from: 'if (held.isRiderCompared) return',
    to: "if (held.accessToken !== '') return",
  },
  {
    promise: '… and a login of another rider changes nothing',
    in: 'src/app/sign-in.ts',
    from: 'if (sameRider) return',
    to: 'if (sameRider || account) return',
  },
  {
    promise: 'Processes that share a database refresh a token once',
    in: 'src/vault/use-locked.ts',
    from: 'await lockCredentials(tx, accountId)',
    to: 'if (accountId === 0) await lockCredentials(tx, accountId)',
  },
  {
    promise: 'Processes that share a database refresh a token once',
    in: 'src/service/refresh-tokens.ts',
    from: 'return a.accessToken === b.accessToken && a.obtainedAt.getTime() === b.obtainedAt.getTime()',
    to: "return a.accessToken !== '' || b.accessToken !== ''",
  },
  {
    promise: 'A new pair is on disk before it is used, also when the database takes no writes',
    in: 'src/vault/use-locked.ts',
    from: 'state.spooled = await trySpool(parts, sealed)',
    to: 'state.spooled = false',
  },
  {
    promise: 'A stop waits for a refresh under way',
    in: 'src/service/service.ts',
    from: 'await Promise.allSettled([...logins.values()].map((state) => state.inFlight))',
    to: 'await Promise.allSettled([])',
  },
  {
    promise: 'What happens is one message, whatever process makes it',
    in: 'src/webhooks/compose.ts',
    from: 'if (last) await recordComposedUpTo(tx, last.changeId)',
    to: 'if (last && last.changeId < 0) await recordComposedUpTo(tx, last.changeId)',
  },
  {
    promise:
      'A message is sent until it is delivered, for three days, with one id; a kill may repeat it and never loses it',
    in: 'src/store/webhooks/outbox.ts',
    from: 'update musette.webhook_messages set attempts = attempts + 1,',
    to: "update musette.webhook_messages set attempts = attempts + 1, state = 'delivered',",
  },
  {
    promise: 'Those of one account come in order, and those of others do not wait for them',
    in: 'src/store/webhooks/outbox.ts',
    from: "where e.state = 'open' and e.webhook = m.webhook and e.account_id is not distinct from m.account_id and e.number < m.number)`",
    to: 'where false)`',
  },
  {
    promise: 'Those of one account come in order, and those of others do not wait for them',
    in: 'src/store/webhooks/outbox.ts',
    from: "where e.state = 'open' and e.webhook = m.webhook and e.account_id is not distinct from m.account_id and e.number < m.number)`",
    to: "where e.state = 'open' and e.webhook = m.webhook and e.number < m.number)`",
  },
  {
    promise:
      'One that cannot be delivered is given up with a row, a line in the log and a problem of the doctor',
    in: 'src/store/webhooks/outbox.ts',
    from: "then 'given_up' else 'open' end,",
    to: "then 'open' else 'open' end,",
  },
  {
    promise: '… for each webhook that wants the event',
    in: 'src/webhooks/compose.ts',
    from: '.filter((webhook) => webhook.events.includes(event))',
    to: '.filter((webhook) => webhook.events.length > 0)',
  },
  {
    promise: 'A whole history that is mirrored is one message',
    in: 'src/webhooks/compose.ts',
    from: 'together !== null && together <= MOST_SINGLE',
    to: 'together !== 0',
  },
  {
    promise: '… and so is one that is recalculated',
    in: 'src/webhooks/compose.ts',
    from: "await recordForDigest(tx, { accountId, event: 'history.recalculated', count })",
    to: "await recordForDigest(tx, { accountId, event: 'history.mirrored', count })",
  },
  {
    promise:
      'An event for Home Assistant is published until the broker has taken it, whatever outage comes between',
    in: 'src/mqtt/publisher.ts',
    from: 'for (const { accountId, payload } of events) {',
    to: 'for (const { accountId, payload } of events.slice(1)) {',
  },
  {
    promise: 'The client holds less than 400 MB, whatever the service answers, and reads rides of 24 hours',
    in: 'src/kit/json.ts',
    from: 'if (json.length <= MAX_VALUES) return undefined',
    to: 'if (json.length > 0) return undefined',
  },
  {
    promise: 'Of large answers one is held at a time, until its activity is recorded',
    in: 'src/service/read-body.ts',
    from: 'if (!hold) return',
    to: 'if (hold) return',
  },
  {
    promise: 'What waits for changes looks again in its time, also after its connection was lost',
    in: 'src/store/feed/change-listener.ts',
    from: 'await sleep(ms, waiting.signal)',
    to: 'await sleep(1e9, waiting.signal)',
  },
  {
    promise:
      'A heartbeat is sent only when every login, poll, upload, backup and comparison was found in order just then',
    in: 'src/daemon/round-heartbeat.ts',
    from: 'const ended = accounts.filter(({ needsLogin }) => needsLogin)',
    to: 'const ended = accounts.filter(({ needsLogin }) => needsLogin && accounts.length > 1)',
  },
  {
    promise: 'A workout as a file has the watts of every second of its definition',
    in: 'src/workoutfolder/format-workout.ts',
    from: 'seconds += step.seconds',
    to: 'seconds += step.seconds + 1',
  },
  {
    promise: 'A file of a workout that you made or changed is never overwritten or removed',
    in: 'src/workoutfolder/workout-folder.ts',
    from: "if (isOurs) return { ...file, name, found: 'ours' }",
    to: "if (mine) return { ...file, name, found: 'ours' }",
  },
]
