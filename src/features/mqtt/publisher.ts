import type { Logger } from 'pino'
import { type Account, findAccounts } from '../../core/store/account-rows.ts'
import { findAccountHealth } from '../../core/store/account-status.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { openChangeListener } from '../../core/store/feed/change-listener.ts'
import { type Change, findChanges } from '../../core/store/feed/change-rows.ts'
import { type Store, type Tx, withExclusiveWork } from '../../core/store/store.ts'
import { errorLine } from '../../kit/errors.ts'
import { type LogOnce, makeLogOnce } from '../../kit/log-once.ts'
import { startWork } from '../../kit/release-stack.ts'
import { formatBytes, toLine } from '../../kit/text.ts'
import { backoffMs, joinSignals, MINUTE, SECOND, sleep } from '../../kit/time.ts'
import { type Broker, MAX_PACKET_BYTES, openBroker } from './broker.ts'
import { makeClaim } from './claim-devices.ts'
import { findDeviceFacts } from './device-facts.ts'
import {
  availabilityTopicOf,
  BIRTH_TOPIC,
  clientIdOf,
  EVENT_KINDS,
  lineTopicOf,
  makeDiscovery,
  NEW_ACTIVITY,
  POLL_TOPICS,
  topicsOf,
} from './entities.ts'
import {
  findPublishedUpTo,
  recordPublishedUpTo,
  recordPublisher,
  recordPublisherState,
} from './mqtt-publisher.ts'
import type { BrokerOptions } from './settings.ts'

type PublisherDeps = Readonly<{
  store: Store
  log: Logger
  databaseUrl: string
  /** finds the time of the last scheduled backup */
  findBackupTime: () => Promise<Date | null>
  /** starts a poll of an account's activities and training info */
  poll: (accountId: number) => Promise<void>
}>

/** Minimum interval between publications, ms: a backfill changes the mirror many times a second, and nobody reads states that often. */
const REST_MS = SECOND
/** A connection that lasts this long, ms, resets the backoff. */
const GOOD_AFTER_MS = 5 * MINUTE
/** Events are for recent activities only, not for the history of a backfill. */
const NEW_WITHIN = '14 days'
const PAGE = 500
/**
 * Maximum number of remembered events: a promoted replica has lost only seconds of events, and without a bound the memory would grow as
 * paths change.
 */
const MAX_REMEMBERED = 20 * PAGE

/** The intervals; tests shorten them. */
const PAUSES = {
  /** How often polls, logins and files are checked; the change feed wakes the publisher at once. */
  lookEveryMs: 30 * SECOND,
  /** How often the lock is tried again while another process of this database publishes. */
  lockRetryMs: 30 * SECOND,
  /** How long to wait for the daemon of another line, which may answer that it publishes these devices. */
  answerMs: 5 * SECOND,
  /** Time in which further presses of an account's button are ignored. */
  commandRestMs: 10 * SECOND,
  /** The first pause is 2 to 5 s, the longest 5 to 10 min. */
  backoff: { firstMs: 5 * SECOND, factor: 2, maxMs: 10 * MINUTE },
}

/**
 * Opens the publisher. The publisher keeps one device per account at the broker up to date, through Home Assistant's discovery. States are
 * retained and sent if they change; all states are sent again after each connection and when Home Assistant says `online`. A signed-out
 * account has no device. Events resume after the last event that the broker accepted. If several processes run, only one of them publishes.
 * If the broker is unreachable, the publisher retries with backoff and delays nothing else. `close` disconnects.
 */
export function openPublisher(
  deps: PublisherDeps,
  { broker, pauses = PAUSES }: { broker: BrokerOptions; pauses?: typeof PAUSES },
): { close(): Promise<void> } {
  const { store, log } = deps
  const problems = makeLogOnce(log)
  // A promoted replica may have lost the record of the last published change, so remember which events were sent.
  const published = new Set<string>()
  const run = async (signal: AbortSignal) => {
    let failures = 0
    while (!signal.aborted) {
      const startedAt = performance.now()
      try {
        const work = (held: AbortSignal) =>
          publishUntilLost(deps, { broker, pauses, signal, held, problems, published })
        const done = await withExclusiveWork(store, 'mqtt', work)
        if (done === undefined) await sleep(pauses.lockRetryMs, signal)
      } catch (error) {
        if (signal.aborted) return
        failures = performance.now() - startedAt > GOOD_AFTER_MS ? 1 : failures + 1
        const problem = errorLine(error)
        problems.say('warn', 'mqtt', `mqtt: ${problem}; musette retries with growing pauses`)
        await store
          .transaction(async (tx) => {
            await recordPublisher(tx)
            await recordPublisherState(tx, { published: false, problem })
          })
          .catch(() => undefined)
        await sleep(backoffMs(pauses.backoff, failures), signal).catch(() => undefined)
      }
    }
  }
  return startWork((signal) =>
    run(signal).catch((error: unknown) => {
      if (!signal.aborted) log.error({ error }, 'mqtt: the publisher stopped')
    }),
  )
}

type SessionInput = {
  broker: BrokerOptions
  pauses: typeof PAUSES
  signal: AbortSignal
  /** aborts if another process may publish */
  held: AbortSignal
  problems: LogOnce
  /** the events that this process has published, by their subject */
  published: Set<string>
}

/**
 * Publishes over one connection. Returns true when the signal aborts or the database has a new line; throws the reason if the connection or
 * the claim to the devices is lost.
 */
async function publishUntilLost(deps: PublisherDeps, input: SessionInput): Promise<true> {
  const { store, log } = deps
  const { published, problems, pauses } = input
  const { commands } = input.broker
  const publisherId = await store.transaction(recordPublisher)
  const findLine = async () => (await store.read(findIdentity)).line
  const line = await findLine()
  const availability = availabilityTopicOf(publisherId)
  const sent = new Map<string, string>()
  const buttons = new Map<string, Account>()
  const claim = makeClaim({ line, topic: lineTopicOf(publisherId), answerMs: pauses.answerMs })
  const press = makePress(deps, input)
  const listener = openChangeListener(
    { log },
    { connectionString: deps.databaseUrl, channel: 'musette_changes' },
  )
  const broker = await openBroker(input.broker, {
    clientId: clientIdOf(line),
    will: { topic: availability, payload: 'offline' },
    onDropped(bytes) {
      const size = `${formatBytes(bytes)}; the limit is ${formatBytes(MAX_PACKET_BYTES)}`
      problems.say('warn', 'mqtt size', `mqtt: the broker sent a message that is too long to read: ${size}`)
    },
    onMessage({ topic, payload, isRetained }) {
      if (topic === claim.topic) return claim.hear(String(payload), isRetained)
      // A retained command would run again at each connection.
      if (isRetained) return
      const account = buttons.get(topic)
      if (account) return press(account)
      if (topic !== BIRTH_TOPIC || String(payload) !== 'online') return
      sent.clear()
      listener.wake()
    },
  })
  const over = joinSignals([input.signal, input.held, broker.lost, claim.lost])
  try {
    await claim.take(broker, over.signal)
    await broker.subscribe([BIRTH_TOPIC, ...(commands ? [POLL_TOPICS] : [])])
    log.info({ client: clientIdOf(line) }, 'mqtt: connected')
    while (!over.signal.aborted && (await findLine()) === line) {
      const isNew = await publishChanged(deps, broker, { publisherId, sent, buttons, commands })
      const { events, waiting } = await publishEvents(deps, broker, { publisherId, published })
      await store.transaction((tx) =>
        recordPublisherState(tx, { published: isNew || events > 0, problem: null }),
      )
      problems.over('mqtt')
      await sleep(REST_MS, over.signal).catch(() => undefined)
      const pauseMs = events === PAGE || waiting ? REST_MS : pauses.lookEveryMs
      await listener.wait(pauseMs, over.signal)
    }
    for (const { aborted, reason } of [broker.lost, claim.lost]) if (aborted) throw reason
    await broker.publish(availability, 'offline', { retain: true }).catch(() => undefined)
    return true
  } finally {
    over.clear()
    await listener.close()
    await broker.close()
  }
}

/**
 * Makes the handler of the buttons. It polls the button's account and then ignores presses for a while, because anyone with access can
 * press all the time.
 */
function makePress({ log, poll }: PublisherDeps, { signal, pauses }: SessionInput) {
  const resting = new Set<number>()
  const carryOut = async ({ accountId, name: account }: Account) => {
    log.info({ account }, 'mqtt: a poll was requested')
    await poll(accountId).catch((error: unknown) =>
      log.warn({ account, reason: errorLine(error) }, 'mqtt: the command failed'),
    )
    await sleep(pauses.commandRestMs, signal).catch(() => undefined)
    resting.delete(accountId)
  }
  return (account: Account) => {
    if (resting.has(account.accountId)) return
    resting.add(account.accountId)
    void carryOut(account)
  }
}

/** Publishes the values that differ from the last values of this connection; returns whether any value differed. */
async function publishChanged(
  deps: PublisherDeps,
  broker: Broker,
  input: {
    publisherId: string
    sent: Map<string, string>
    /** the accounts by the topics of their buttons; set to the published accounts */
    buttons: Map<string, Account>
    commands: boolean
  },
): Promise<boolean> {
  const { publisherId, sent, buttons, commands } = input
  const backupAt = await deps.findBackupTime()
  const wanted = await deps.store.read(async (tx) => {
    const healths = await findAccountHealth(tx)
    const found: Array<[topic: string, payload: string]> = []
    for (const account of await findAccounts(tx)) {
      const topics = topicsOf(publisherId, account.accountId)
      const health = healths.find((each) => each.account === account.name)
      if (!health?.token_obtained_at) {
        // An empty retained message deletes the broker's copy, and Home Assistant removes the device.
        const { config, workout, activity, state } = topics
        found.push(...[config, workout, activity, state].map((topic): [string, string] => [topic, '']))
        buttons.delete(topics.poll)
        continue
      }
      if (commands) buttons.set(topics.poll, account)
      const facts = await findDeviceFacts(tx, { account, health, backupAt })
      found.push(
        [topics.config, toJson(makeDiscovery(account, { publisherId, commands }))],
        [topics.workout, toJson(facts.workout)],
        [topics.activity, toJson(facts.activity)],
        [topics.state, toJson(facts.state, LONGEST_STATE)],
      )
    }
    return found
  })
  wanted.push([availabilityTopicOf(publisherId), 'online'])
  const changed = wanted.filter(([topic, payload]) => sent.get(topic) !== payload)
  for (const [topic, payload] of changed) {
    await broker.publish(topic, payload, { retain: true })
    sent.set(topic, payload)
  }
  return changed.length > 0
}

/** Maximum length of an entity's state in Home Assistant. */
const LONGEST_STATE = 255

/** Formats JSON with each text on one line, and null for an empty text, because a notification of Home Assistant may show it. */
function toJson(value: object, longest?: number): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'string' ? toLine(each, longest) || null : each))
}

/** Publishes the events of the next changes, and records the last change whose events the broker accepted. */
async function publishEvents(
  { store }: PublisherDeps,
  broker: Broker,
  { publisherId, published }: { publisherId: string; published: Set<string> },
) {
  const { changes, waiting, activities } = await store.read(async (tx) => {
    const page = await findChanges(tx, { after: await findPublishedUpTo(tx), limit: PAGE })
    return { ...page, activities: await findNewActivities(tx, page.changes) }
  })
  const last = changes.at(-1)
  if (!last) return { events: 0, waiting }
  const events = changes.flatMap(({ changeId, accountId, kind, path, at, detail }) => {
    const activity = activities.get(changeId)
    const isEvent = accountId !== null && EVENT_KINDS.some((one) => one === kind)
    if (!isEvent && !activity) return []
    const facts = activity ? { ...activity, event_type: NEW_ACTIVITY } : { ...detail, event_type: kind }
    const about = [facts.event_type, accountId, path ?? changeId, detail.content_id].join(' ')
    return [{ accountId: accountId ?? 0, about, payload: { ...facts, at, path } }]
  })
  for (const { accountId, about, payload } of events) {
    if (published.has(about)) continue
    const { event } = topicsOf(publisherId, accountId)
    await broker.publish(event, toJson(payload), { retain: false })
    const [oldest] = published
    if (oldest !== undefined && published.size >= MAX_REMEMBERED) published.delete(oldest)
    published.add(about)
  }
  await store.transaction((tx) => recordPublishedUpTo(tx, last.changeId))
  return { events: changes.length, waiting }
}

/**
 * Finds the activities with their first samples among the changes, by change number. Leaves out activities that started long ago, as in a
 * backfill.
 */
async function findNewActivities(tx: Tx, changes: readonly Change[]) {
  const isFilled = ({ kind, detail }: Change) =>
    kind === 'activity.samples' && Number(detail.sample_count) > 0
  const filled = changes.filter(isFilled).map(({ changeId }) => changeId)
  if (filled.length === 0) return new Map()
  const { rows } = await tx.client.query<{ changeId: number; activity: Record<string, unknown> }>(
    `select c.change_id::float8 as "changeId", jsonb_build_object('name', a.name, 'activity_type', a.activity_type,
       'started_at', a.started_at, 'elapsed_s', a.elapsed_s, 'distance_km', a.distance, 'xss', a.xss, 'focus', a.focus,
       'breakthrough', a.breakthrough, 'medal', a.medal) as activity
     from training.changes c join training.activities a on a.account_id = c.account_id and a.path = c.path
     where c.change_id = any ($1) and a.started_at > now() - interval '${NEW_WITHIN}' and not exists (
       select from training.changes e where e.account_id = c.account_id and e.path = c.path
         and e.kind = 'activity.samples' and (e.detail->>'sample_count')::int > 0 and e.change_id < c.change_id)`,
    [filled],
  )
  return new Map(rows.map(({ changeId, activity }) => [changeId, activity]))
}
