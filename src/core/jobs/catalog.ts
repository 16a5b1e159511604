import type { Logger } from 'pino'
import { z } from 'zod'
import { RejectedError } from '../../kit/errors.ts'
import { shorten } from '../../kit/text.ts'
import { type Backoff, DAY, HOUR, MINUTE, SECOND } from '../../kit/time.ts'
import type { Config } from '../../program/config/config.ts'

/** The first pause is 5 to 10 s, the longest 7 to 15 min: few requests in an outage of hours, and its end is noticed soon. */
export const BACKOFF: Backoff = { firstMs: 10 * SECOND, factor: 3, maxMs: 15 * MINUTE }
/** How many completed jobs a queue keeps, and for how many seconds: only for a person who watches it, an hour and about two pages. */
export const KEEP_COMPLETED = { age: HOUR / SECOND, count: 200 }
/** Dead jobs are kept for a person: a week, and few enough that an outage cannot fill the disk. */
export const KEEP_FAILED = { age: (7 * DAY) / SECOND, count: 1_000 }

const id = z.int().positive()
const account = z.strictObject({ accountId: id })
export const nothing = z.strictObject({})

/** Tries of a job that says no other number: then the next scheduled one takes over. */
export const ATTEMPTS = 6

/** Tokens live for a week and are refreshed at half of it; a check twice a day is early enough. */
const REFRESH_CHECK_EVERY_MS = DAY / 2
/** Training load and status change with the hours; a row is written only on a change. */
const TRAINING_INFO_EVERY_MS = 1 * HOUR
/** A daemon adds a sweep for due work within seconds; this one is for all that nothing tells of. Each writes to the disk. */
const SWEEP_EVERY_MS = 10 * MINUTE

/** Schedules more often than this would be most of the queue's work. */
const MIN_SCRUB_EVERY_MS = MINUTE

/** Spreads the activities that are compared in a day over it: how often some are, and how many at a time; undefined for none. */
export function scrubOf(perDay: number): { everyMs: number; limit: number } | undefined {
  if (perDay === 0) return undefined
  const everyMs = Math.max(MIN_SCRUB_EVERY_MS, Math.floor(DAY / perDay))
  return { everyMs, limit: Math.ceil((perDay * everyMs) / DAY) }
}

/** Makes core's part of the catalog: the jobs that mirror, with the intervals of a configuration. */
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
      attempts: 10, // about an hour and a half; the sweep enqueues it again later
    },
    'refresh-token': {
      payload: account,
      schedule: { everyMs: REFRESH_CHECK_EVERY_MS, per: 'account', atStart: true },
    },
    'check-upload': {
      payload: z.strictObject({ accountId: id, contentId: z.hex().length(64) }),
      attempts: 1, // the ledger has the time of the next check, and the sweep enqueues it then
    },
    'poll-training-info': {
      payload: account,
      schedule: { everyMs: TRAINING_INFO_EVERY_MS, per: 'account', atStart: true },
    },
    'poll-workouts': {
      payload: account,
      attempts: 20, // some four hours: the next scheduled poll is a day away
      schedule: { everyMs: DAY, per: 'account' },
    },
    // Due work is looked for each 10 s, and begins the next one.
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
 * Every kind of job by its name: core's, and those of the features. A key keeps a job in the queue once. BullMQ drops a job that is added
 * while another of its key runs, and that loses nothing: the truth is the `wanted` rows in Postgres, and the sweep enqueues the remaining
 * ones again.
 */
export type Catalog = Readonly<Record<string, JobDefinition>>

/** Returns what a catalog or handlers have for a job of that name. Throws RejectedError `job_unknown`. */
export function jobOf<T>(jobs: Readonly<Record<string, T>>, name: string): T {
  const job = Object.hasOwn(jobs, name) ? jobs[name] : undefined
  if (job) return job
  throw new RejectedError(
    'job_unknown',
    `this version has no job "${shorten(name, 100)}"; another version or program shares the queue`,
  )
}

/** The two queues: short jobs that must not wait behind a backfill, and the fetches. */
export type QueueName = 'polls' | 'fetches'

export const QUEUE_NAMES: readonly QueueName[] = ['polls', 'fetches']

/** Everything about a kind of job except its handler, backoff and retention. */
type JobDefinition = Readonly<{
  /** `polls` when it says none */
  queue?: QueueName
  /** Contains ids only, never a secret or a file. */
  payload: z.ZodType
  /** Tries after which a job that fails for transient reasons is dead; ATTEMPTS when it says none. */
  attempts?: number
  /**
   * The interval that repeats it, ms, or undefined for work that the configuration does not ask for, and whether each account or the daemon
   * has a schedule of it. The interval holds over restarts: a job that was due meanwhile runs at the start, and no other; with `atStart` it
   * also runs at each start of a daemon.
   */
  schedule?: Readonly<{ everyMs: number | undefined; per: 'account' | 'daemon'; atStart?: true }>
}>

/** What a handler may return: nothing, or counts for a line of the log at level info. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is of this type
export type HandlerResult = void | Readonly<{ counts: Record<string, number> }>

export type HandlerContext = Readonly<{
  /** Aborts when the daemon stops or the job was given to another worker. */
  signal: AbortSignal
  log: Logger
}>

/** Runs a job: its own function for each name in the catalog. */
export type Handlers = Readonly<Record<string, Handler<never>>>
type Handler<P> = (payload: P, context: HandlerContext) => Promise<HandlerResult>
/** Those of core's jobs; the types refuse a job without one. */
export type CoreHandlers = { readonly [N in JobName]: Handler<PayloadOf<N>> }

/** Parses the payload of a job. Throws RejectedError `job_unreadable`. */
export function parsePayload<T>(schema: z.ZodType<T>, payload: unknown): T {
  const parsed = schema.safeParse(payload)
  if (parsed.success) return parsed.data
  const places = parsed.error.issues.map(({ path }) => path.join('.') || 'the whole')
  throw new RejectedError(
    'job_unreadable',
    `unknown job payload (${shorten(places.join(', '), 100)}); another version or program shares the queue`,
  )
}

/**
 * Makes the key of a job from an unchecked payload: its name and each id. Two jobs with the same key are one job: the key is the
 * deduplication id and the schedule's id. Throws the schema's error when the payload does not match.
 */
export function jobKeyOf(name: string, { payload: schema }: JobDefinition, payload: unknown): string {
  const ids = Object.entries(Object(schema.parse(payload)))
  return [name, ...ids.flatMap(([field, id]) => [field.replace(/Id$/, ''), id])].join('-')
}
