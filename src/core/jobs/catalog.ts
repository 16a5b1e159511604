import type { Logger } from 'pino'
import { z } from 'zod'
import { RejectedError } from '../../kit/errors.ts'
import { shorten } from '../../kit/text.ts'
import { type Backoff, DAY, HOUR, MINUTE, SECOND } from '../../kit/time.ts'
import type { Config } from '../../program/config/config.ts'

/** Pauses between retries: 5 to 10 s at first, at most 7 to 15 min. These pauses send few requests during an outage of hours, and still notice its end soon. */
export const BACKOFF: Backoff = { firstMs: 10 * SECOND, factor: 3, maxMs: 15 * MINUTE }
/** How many completed jobs a queue keeps, and for how many seconds: about two pages and an hour, enough for people who watch the queue. */
export const KEEP_COMPLETED = { age: HOUR / SECOND, count: 200 }
/** How many dead jobs a queue keeps for a person, and for how many seconds: a week, and few enough that an outage cannot fill the disk. */
export const KEEP_FAILED = { age: (7 * DAY) / SECOND, count: 1_000 }

const id = z.int().positive()
const account = z.strictObject({ accountId: id })
export const nothing = z.strictObject({})

/** Default number of attempts of a job. After that the next scheduled job takes over. */
export const ATTEMPTS = 6

/** How often tokens are checked. Tokens live for a week and are refreshed after half of that time. */
const REFRESH_CHECK_EVERY_MS = DAY / 2
/** How often training info is polled. An hour is short enough, because load and status change within hours. A row is written only on a change. */
const TRAINING_INFO_EVERY_MS = 1 * HOUR
/** Interval of the sweep for work that no event announces. Each sweep writes to the disk. */
const SWEEP_EVERY_MS = 10 * MINUTE

/** Minimum interval of the scrub. With a shorter interval, scrubs would be most of the work of the queue. */
const MIN_SCRUB_EVERY_MS = MINUTE

/** Spreads the activities to compare per day over the day. Returns the interval and the number of activities to compare each time. Returns undefined for none. */
export function scrubOf(perDay: number): { everyMs: number; limit: number } | undefined {
  if (perDay === 0) return undefined
  const everyMs = Math.max(MIN_SCRUB_EVERY_MS, Math.floor(DAY / perDay))
  return { everyMs, limit: Math.ceil((perDay * everyMs) / DAY) }
}

/** Makes core's part of the catalog: the jobs that mirror, at the configured intervals. */
export function makeCoreCatalog({ mirror }: Pick<Config, 'mirror'>) {
  const { pollEveryMs, reconcileEveryMs, scrubPerDay } = mirror
  return {
    'poll-activities': {
      payload: account,
      schedule: { everyMs: pollEveryMs, per: 'account', atStart: true },
    },
    'reconcile-activities': { payload: account, schedule: { everyMs: reconcileEveryMs, per: 'account' } },
    'scrub-activities': {
      payload: account,
      attempts: 3,
      schedule: { everyMs: scrubOf(scrubPerDay)?.everyMs, per: 'account' },
    },
    'fetch-activity': {
      queue: 'fetches',
      payload: z.strictObject({ accountId: id, activityId: id }),
      attempts: 10, // about 1.5 hours; the sweep enqueues it again later
    },
    'refresh-token': {
      payload: account,
      schedule: { everyMs: REFRESH_CHECK_EVERY_MS, per: 'account', atStart: true },
    },
    'check-upload': {
      payload: z.strictObject({ accountId: id, contentId: z.hex().length(64) }),
      attempts: 1, // the sweep enqueues the next check at the time in the ledger
    },
    'poll-training-info': {
      payload: account,
      schedule: { everyMs: TRAINING_INFO_EVERY_MS, per: 'account', atStart: true },
    },
    'poll-workouts': {
      payload: account,
      attempts: 20, // about four hours: the next scheduled poll is a day away
      schedule: { everyMs: DAY, per: 'account' },
    },
    // A daemon looks for due work every 10 s and enqueues a sweep for it.
    sweep: {
      payload: nothing,
      attempts: 2,
      schedule: { everyMs: SWEEP_EVERY_MS, per: 'daemon', atStart: true },
    },
  } as const satisfies Catalog
}

type CoreCatalog = ReturnType<typeof makeCoreCatalog>
export type JobName = keyof CoreCatalog
export type PayloadOf<N extends JobName> = z.infer<CoreCatalog[N]['payload']>

/**
 * Every kind of job by name: the jobs of core and of the features. The key of a job keeps it in the queue only once. BullMQ drops a job if
 * another with its key is running. Nothing is lost: the `wanted` rows in Postgres are the source of truth, and the sweep enqueues the rest
 * again.
 */
export type Catalog = Readonly<Record<string, JobDefinition>>

/** Returns the entry of a catalog or of handlers for a job name. Throws RejectedError `job_unknown`. */
export function jobOf<T>(jobs: Readonly<Record<string, T>>, name: string): T {
  const job = Object.hasOwn(jobs, name) ? jobs[name] : undefined
  if (job) return job
  throw new RejectedError(
    'job_unknown',
    `this version has no job "${shorten(name, 100)}"; another version or program shares the queue`,
  )
}

/** The queues: `polls` for short jobs that must not wait behind a backfill, and `fetches`. */
export type QueueName = 'polls' | 'fetches'

export const QUEUE_NAMES: readonly QueueName[] = ['polls', 'fetches']

/** A kind of job, without its handler, backoff and retention. */
type JobDefinition = Readonly<{
  /** default: `polls` */
  queue?: QueueName
  /** Holds only ids, never a secret or a file. */
  payload: z.ZodType
  /** Number of attempts before a job that fails for transient reasons is dead; default: ATTEMPTS. */
  attempts?: number
  /**
   * Repeats the job every `everyMs` per account or per daemon; undefined if the configuration turns it off. The interval survives restarts:
   * only a job that became due meanwhile runs at the start. With `atStart` the job also runs at each start of a daemon.
   */
  schedule?: Readonly<{ everyMs: number | undefined; per: 'account' | 'daemon'; atStart?: true }>
}>

/** The result of a handler: nothing, or counts that are logged at level info. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler may return nothing
export type HandlerResult = void | Readonly<{ counts: Record<string, number> }>

export type HandlerContext = Readonly<{
  /** Aborts if the daemon stops or another worker got the job. */
  signal: AbortSignal
  log: Logger
}>

/** Handlers by job name. */
export type Handlers = Readonly<Record<string, Handler<never>>>
type Handler<P> = (payload: P, context: HandlerContext) => Promise<HandlerResult>
/** Handlers of the jobs of core. The type requires one for each job. */
export type CoreHandlers = { readonly [N in JobName]: Handler<PayloadOf<N>> }

/** Parses the payload of a job. Throws RejectedError `job_unreadable`. */
export function parsePayload<T>(schema: z.ZodType<T>, payload: unknown): T {
  const parsed = schema.safeParse(payload)
  if (parsed.success) return parsed.data
  const places = parsed.error.issues.map(({ path }) => path.join('.') || 'all of it')
  throw new RejectedError(
    'job_unreadable',
    `cannot read the job payload (${shorten(places.join(', '), 100)}); another version or program shares the queue`,
  )
}

/**
 * Makes the key of a job from its name and the ids of an unchecked payload. The key is the deduplication id and the id of the schedule, so
 * two jobs with the same key are one job. Throws the error of the schema if the payload does not match.
 */
export function jobKeyOf(name: string, { payload: schema }: JobDefinition, payload: unknown): string {
  const ids = Object.entries(Object(schema.parse(payload)))
  return [name, ...ids.flatMap(([field, id]) => [field.replace(/Id$/, ''), id])].join('-')
}
