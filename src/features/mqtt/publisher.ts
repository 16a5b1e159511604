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
  /** when the last scheduled backup was made */
  findBackupTime: () => Promise<Date | null>
  /** begins a poll of an account's activities and training info */
  poll: (accountId: number) => Promise<void>
}>

/** A backfill changes the mirror many times a second, and nobody reads states so fast. */
const REST_MS = SECOND
/** A connection that held this long was a good one. */
const GOOD_AFTER_MS = 5 * MINUTE
/** Events are for new activities, not for the history of a backfill. */
const NEW_WITHIN = '14 days'
const PAGE = 500
/** The events that are remembered: a promoted replica has lost seconds of them, and changing paths must cause no leak. */
const MAX_REMEMBERED = 20 * PAGE

/** The pauses; tests make them shorter. */
const PAUSES = {
  /** Polls, logins and files are looked at this often; the change feed wakes the publisher at once. */
  lookEveryMs: 30 * SECOND,
  /** Another process of this database may hold the connection. */
  lockRetryMs: 30 * SECOND,
  /** How long the daemon of another line may take to say that it publishes these devices. */
  answerMs: 5 * SECOND,
  /** Further presses of an account's button within this time are left out. */
  commandRestMs: 10 * SECOND,
  /** The first pause is 2 to 5 s, the longest 5 to 10 min. */
  backoff: { firstMs: 5 * SECOND, factor: 2, maxMs: 10 * MINUTE },
}

/**
 * Opens the publisher: it keeps one device an account at the broker equal to the mirror, by Home Assistant's discovery. States are
 * retained and sent when they differ; all are sent anew after each connection and when Home Assistant says `online`. An account that was
 * signed out has no device. Events go on after
 * the last one that the broker has taken. Of several processes one publishes. A broker that is away is tried again with growing
 * pauses and holds nothing up. `close` says goodbye.
 */
export function openPublisher(
  deps: PublisherDeps,
  { broker, pauses = PAUSES }: { broker: BrokerOptions; pauses?: typeof PAUSES },
): { close(): Promise<void> } {
  const { store, log } = deps
  const problems = makeLogOnce(log)
  // A promoted replica may have lost how far they came, and what they were about.
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
        problems.say('warn', 'mqtt', `mqtt: ${problem}; tried again with growing pauses`)
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
      if (!signal.aborted) log.error({ error }, 'mqtt: the publisher ended')
    }),
  )
}

type SessionInput = {
  broker: BrokerOptions
  pauses: typeof PAUSES
  signal: AbortSignal
  /** aborts when another process may publish */
  held: AbortSignal
  problems: LogOnce
  /** the events that this process has published, by what they are about */
  published: Set<string>
}

/**
 * Publishes by one connection until the signal aborts or the database has a new line, and then returns true; throws the reason when the
 * connection or the claim to the devices is lost.
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
      const size = `${formatBytes(bytes)}; the most is ${formatBytes(MAX_PACKET_BYTES)}`
      problems.say('warn', 'mqtt size', `mqtt: the broker sent a message that is too long to read: ${size}`)
    },
    onMessage({ topic, payload, isRetained }) {
      if (topic === claim.topic) return claim.hear(String(payload), isRetained)
      // A command that was retained would be carried out at each connection.
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

/** Makes the work of a button: a poll of its account, and then a pause, because anyone who may press it can do so all the time. */
function makePress({ log, poll }: PublisherDeps, { signal, pauses }: SessionInput) {
  const resting = new Set<number>()
  const carryOut = async ({ accountId, name: account }: Account) => {
    log.info({ account }, 'mqtt: a poll was asked for')
    await poll(accountId).catch((error: unknown) =>
      log.warn({ account, reason: errorLine(error) }, 'mqtt: the command could not be carried out'),
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

/** Publishes what differs from what this connection has sent; returns whether there was something. */
async function publishChanged(
  deps: PublisherDeps,
  broker: Broker,
  input: {
    publisherId: string
    sent: Map<string, string>
    /** the accounts by the topics of their buttons, which are made equal to those that are published */
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
        // The broker forgets a retained message that is empty, and Home Assistant removes the device.
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

/** What Home Assistant shows as the state of an entity at most. */
const LONGEST_STATE = 255

/** Writes JSON with every text on one line, or null for an empty one: a notification of Home Assistant may show it. */
function toJson(value: object, longest?: number): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'string' ? toLine(each, longest) || null : each))
}

/** Publishes the events of the next changes, and records how far the broker has taken them. */
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
 * Finds the activities with their first samples among the changes, by the change's number, except those that started long ago, as in a
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
