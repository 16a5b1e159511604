import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "Logins last" and "Messages reach their receivers". */
export const LOGINS: readonly Breaking[] = [
  {
    promise: 'Only a definite refusal ends a login, not timeouts and errors of the service',
    in: 'src/core/service/refresh-tokens.ts',
    from: 'if (!(error instanceof CredentialsRejectedError)) return fail(deps, account, held, error)',
    to: 'if (!(error instanceof CredentialsRejectedError)) return park(deps, account, held)',
  },
  {
    promise: '… nor 401 answers to new tokens, for seconds or days',
    in: 'src/core/service/refresh-tokens.ts',
    from: 'return needsLogin && refusals === 0',
    to: 'return needsLogin || refusals > 0',
  },
  {
    promise: 'An account uses tokens of its own rider only',
    in: 'src/core/service/account-login.ts',
    from: 'if (held.isRiderCompared) return',
    to: "if (held.accessToken !== '') return",
  },
  {
    promise: '… and a login of another rider changes nothing',
    in: 'src/program/app/sign-in.ts',
    from: 'if (sameRider) return',
    to: 'if (sameRider || account) return',
  },
  {
    promise: 'Processes that share a database refresh a token once',
    in: 'src/core/vault/use-locked.ts',
    from: 'await lockCredentials(tx, accountId)',
    to: 'if (accountId === 0) await lockCredentials(tx, accountId)',
  },
  {
    promise: 'Processes that share a database refresh a token once',
    in: 'src/core/service/refresh-tokens.ts',
    from: 'return a.accessToken === b.accessToken && a.obtainedAt.getTime() === b.obtainedAt.getTime()',
    to: "return a.accessToken !== '' || b.accessToken !== ''",
  },
  {
    promise: 'A new pair is on disk before its use, also when the database takes no writes',
    in: 'src/core/vault/use-locked.ts',
    from: 'state.spooled = await trySpool(parts, sealed)',
    to: 'state.spooled = false',
  },
  {
    promise: 'A stop waits for a refresh under way',
    in: 'src/core/service/service.ts',
    from: 'await Promise.allSettled([...logins.values()].map((state) => state.inFlight))',
    to: 'await Promise.allSettled([])',
  },
  {
    promise: 'An event is one message, whatever process makes it',
    in: 'src/features/webhooks/compose.ts',
    from: 'if (last) await recordComposedUpTo(tx, last.changeId)',
    to: 'if (last && last.changeId < 0) await recordComposedUpTo(tx, last.changeId)',
  },
  {
    promise:
      'A message is sent until delivered, for three days, with one id; a kill may repeat it, never lose it',
    in: 'src/features/webhooks/outbox.ts',
    from: 'update musette.webhook_messages set attempts = attempts + 1,',
    to: "update musette.webhook_messages set attempts = attempts + 1, state = 'delivered',",
  },
  {
    promise: 'Messages of one account come in order and delay no other account',
    in: 'src/features/webhooks/outbox.ts',
    from: "where e.state = 'open' and e.webhook = m.webhook and e.account_id is not distinct from m.account_id and e.number < m.number)`",
    to: 'where false)`',
  },
  {
    promise: 'Messages of one account come in order and delay no other account',
    in: 'src/features/webhooks/outbox.ts',
    from: "where e.state = 'open' and e.webhook = m.webhook and e.account_id is not distinct from m.account_id and e.number < m.number)`",
    to: "where e.state = 'open' and e.webhook = m.webhook and e.number < m.number)`",
  },
  {
    promise: 'A message that is given up has a row, a log line and a finding of the doctor',
    in: 'src/features/webhooks/outbox.ts',
    from: "then 'given_up' else 'open' end,",
    to: "then 'open' else 'open' end,",
  },
  {
    promise: '… for each webhook with that event',
    in: 'src/features/webhooks/compose.ts',
    from: '.filter((webhook) => webhook.events.includes(event))',
    to: '.filter((webhook) => webhook.events.length > 0)',
  },
  {
    promise: 'A mirrored history is one message',
    in: 'src/features/webhooks/compose.ts',
    from: 'together !== null && together <= MAX_SINGLE',
    to: 'together !== 0',
  },
  {
    promise: '… as is a recalculated one',
    in: 'src/features/webhooks/compose.ts',
    from: "await recordForDigest(tx, { accountId, event: 'history.recalculated', count })",
    to: "await recordForDigest(tx, { accountId, event: 'history.mirrored', count })",
  },
  {
    promise: 'An event for Home Assistant is published until the broker confirms it, over any outage',
    in: 'src/features/mqtt/publisher.ts',
    from: 'for (const { accountId, payload } of events) {',
    to: 'for (const { accountId, payload } of events.slice(1)) {',
  },
  {
    promise: 'The client holds less than 400 MB at any answer, and reads rides of 24 hours',
    in: 'src/kit/json.ts',
    from: 'if (json.length <= MAX_VALUES) return undefined',
    to: 'if (json.length > 0) return undefined',
  },
  {
    promise: 'Of large answers one is held at a time, until its activity is recorded',
    in: 'src/core/service/transport.ts',
    from: 'await hold.released',
    to: 'await Promise.resolve()',
  },
  {
    promise: 'A process that waits for changes looks again in time, also after a lost connection',
    in: 'src/core/store/feed/change-listener.ts',
    from: 'await sleep(ms, waiting.signal)',
    to: 'await sleep(1e9, waiting.signal)',
  },
  {
    promise: 'A heartbeat is sent only when every login, poll, upload, backup and comparison is in order',
    in: 'src/program/frame/findings/core-sources.ts',
    from: "needs_login: ['credentials', SIGNED_OUT,",
    to: "needs_login: ['credentials', 'doctor status header message',",
  },
  {
    promise: 'A workout file has the watts of every second of its definition',
    in: 'src/features/workoutfiles/format-workout.ts',
    from: 'seconds += step.seconds',
    to: 'seconds += step.seconds + 1',
  },
  {
    promise: 'A workout file that you made or changed is never overwritten or removed',
    in: 'src/features/workoutfiles/workout-folder.ts',
    from: "if (isOurs) return { ...file, name, found: 'ours' }",
    to: "if (mine) return { ...file, name, found: 'ours' }",
  },
]
