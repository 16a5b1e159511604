import type { Logger } from 'pino'
import { z } from 'zod'
import { RejectedError } from '../kit/errors.ts'
import { shorten } from '../kit/text.ts'
import { type Backoff, DAY, HOUR, MINUTE, SECOND } from '../kit/time.ts'

/** The first pause is 5 to 10 s, the longest 7 to 15 min: few requests in an outage of hours, and its end is noticed soon. */
const BACKOFF: Backoff = { firstMs: 10 * SECOND, factor: 3, maxMs: 15 * MINUTE }
/** Completed jobs are only for a person who watches the queue: an hour, and about two pages. */
const KEEP_COMPLETED: Retention = { age: HOUR / SECOND, count: 200 }
/** Dead jobs are kept for a person: a week, and few enough that an outage cannot fill the disk. */
const KEEP_FAILED: Retention = { age: (7 * DAY) / SECOND, count: 1_000 }

const id = z.int().positive()
const account = z.strictObject({ accountId: id })
const nothing = z.strictObject({})

const ENTRIES = {
  'poll-activities': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `poll-activities-account-${accountId}`,
    attempts: 6, // then the next scheduled poll takes over
    schedule: { every: 'poll', per: 'account', atStart: true },
  }),
  'reconcile-activities': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `reconcile-activities-account-${accountId}`,
    attempts: 6, // then the next scheduled one takes over
    schedule: { every: 'reconcile', per: 'account' },
  }),
  'scrub-activities': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `scrub-activities-account-${accountId}`,
    attempts: 3, // then the next scheduled one takes over
    schedule: { every: 'scrub', per: 'account' },
  }),
  'fetch-activity': defineJob({
    queue: 'fetches',
    payload: z.strictObject({ accountId: id, activityId: id }),
    key: ({ accountId, activityId }) => `fetch-activity-account-${accountId}-activity-${activityId}`,
    attempts: 10, // about an hour and a half; the sweep enqueues it again later
  }),
  'refresh-token': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `refresh-token-account-${accountId}`,
    attempts: 6, // then the next scheduled check takes over
    schedule: { every: 'refresh', per: 'account', atStart: true },
  }),
  'check-upload': defineJob({
    queue: 'polls',
    payload: z.strictObject({ accountId: id, contentId: z.hex().length(64) }),
    key: ({ accountId, contentId }) => `check-upload-account-${accountId}-content-${contentId}`,
    attempts: 1, // the ledger has the time of the next check, and the sweep enqueues it then
  }),
  'poll-training-info': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `poll-training-info-account-${accountId}`,
    attempts: 6, // then the next scheduled poll takes over
    schedule: { every: 'trainingInfo', per: 'account', atStart: true },
  }),
  'poll-workouts': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `poll-workouts-account-${accountId}`,
    attempts: 20, // some four hours: the next scheduled poll is a day away
    schedule: { every: 'workouts', per: 'account' },
  }),
  'export-history': defineJob({
    queue: 'polls',
    payload: nothing,
    key: () => 'export-history',
    attempts: 6, // then the next scheduled one takes over
    schedule: { every: 'export', per: 'daemon', atStart: true },
  }),
  'back-up': defineJob({
    queue: 'polls',
    payload: nothing,
    key: () => 'back-up',
    attempts: 10, // about an hour and a half: the next scheduled one may be a day away
    schedule: { every: 'backup', per: 'daemon', atStart: true }, // its handler reads when the newest one was made
  }),
  'verify-backup': defineJob({
    queue: 'polls',
    payload: nothing,
    key: () => 'verify-backup',
    attempts: 2, // the next scheduled one comes a day later
    schedule: { every: 'verifyBackup', per: 'daemon', atStart: true }, // its handler reads when one was last compared
  }),
  'send-heartbeat': defineJob({
    queue: 'polls',
    payload: nothing,
    key: () => 'send-heartbeat',
    attempts: 5, // some minutes: then the next scheduled one takes over
    schedule: { every: 'heartbeat', per: 'daemon' },
  }),
  sweep: defineJob({
    queue: 'polls',
    payload: nothing,
    key: () => 'sweep',
    attempts: 2, // the next sweep comes within seconds
    schedule: { every: 'sweep', per: 'daemon', atStart: true },
  }),
}

type Payloads = { [N in keyof typeof ENTRIES]: z.infer<(typeof ENTRIES)[N]['payload']> }

export type JobName = keyof typeof ENTRIES
export type PayloadOf<N extends JobName> = Payloads[N]

/** The names of the intervals: one for each `schedule.every` in the catalog. */
type ScheduleName = { [N in JobName]: NonNullable<(typeof ENTRIES)[N]['schedule']>['every'] }[JobName]

/** The interval of each schedule, ms; undefined for work that the configuration does not ask for. */
export type Intervals = Readonly<Record<ScheduleName, number | undefined>>

/**
 * Every kind of job. A new one is one entry here and one handler; the types refuse one without the other. A key keeps a job
 * in the queue once. BullMQ drops a job that is added while another of its key runs, and that loses nothing: the truth is
 * the `wanted` rows in Postgres, and the sweep enqueues the remaining ones again.
 */
export const CATALOG: { readonly [N in JobName]: JobDefinition<Payloads[N]> } = ENTRIES

export const JOB_NAMES: readonly JobName[] = Object.keys(ENTRIES).filter(isJobName)

/** Tells whether a text is the name of a job in the catalog. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(ENTRIES, name)
}

/** The two queues: short jobs that must not wait behind a backfill, and the fetches. */
export type QueueName = 'polls' | 'fetches'

export const QUEUE_NAMES: readonly QueueName[] = ['polls', 'fetches']

/** How many finished jobs a queue keeps and for how long (`age` in seconds, as BullMQ counts it). */
type Retention = Readonly<{ age: number; count: number }>

/** Everything about a kind of job except its handler. */
type JobDefinition<P = unknown> = Readonly<{
  queue: QueueName
  /** Contains ids only, never a secret or a file. */
  payload: z.ZodType<P>
  /** Two jobs with the same key are one job: the key is the deduplication id and the schedule's id. */
  key: (payload: P) => string
  /** Tries after which a job that fails for transient reasons is dead. */
  attempts: number
  backoff: Backoff
  completed: Retention
  failed: Retention
  /** What repeats it. */
  schedule?: JobSchedule<string>
}>

/**
 * The interval that repeats a job, and whether each account or the daemon has a schedule of it. The interval holds over restarts: a
 * job that was due meanwhile runs at the start, and no other; with `atStart` it also runs at each start of a daemon.
 */
type JobSchedule<E extends string> = Readonly<{ every: E; per: 'account' | 'daemon'; atStart?: true }>

type JobInput<P> = Omit<JobDefinition<P>, 'backoff' | 'completed' | 'failed' | 'schedule'>
type Schedule<E extends string> = { schedule?: JobSchedule<E> }

/** Completes a catalog entry by the defaults; payload and key are checked against each other by their types. */
function defineJob<P, const E extends string = never>(
  definition: JobInput<P> & Schedule<E>,
): JobDefinition<P> & Schedule<E> {
  return { backoff: BACKOFF, completed: KEEP_COMPLETED, failed: KEEP_FAILED, ...definition }
}

/** What a handler may return: nothing, or counts for a line of the log at level info. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is of this type
export type HandlerResult = void | Readonly<{ counts: Record<string, number> }>

export type HandlerContext = Readonly<{
  /** Aborts when the daemon stops or the job was given to another worker. */
  signal: AbortSignal
  log: Logger
}>

export type Handlers = {
  readonly [N in JobName]: (payload: PayloadOf<N>, context: HandlerContext) => Promise<HandlerResult>
}

/**
 * Checks a payload against its schema and runs the handler of that name. Throws RejectedError `job_unreadable`, or the handler's
 * error.
 */
export function runHandler<N extends JobName>(
  handlers: Handlers,
  input: { name: N; payload: unknown; context: HandlerContext },
): Promise<HandlerResult> {
  return handlers[input.name](parsePayload(CATALOG[input.name].payload, input.payload), input.context)
}

/** Parses the payload of a job. Throws RejectedError `job_unreadable`. */
export function parsePayload<T>(schema: z.ZodType<T>, payload: unknown): T {
  const parsed = schema.safeParse(payload)
  if (parsed.success) return parsed.data
  const places = parsed.error.issues.map(({ path }) => path.join('.') || 'the whole')
  throw new RejectedError(
    'job_unreadable',
    `its payload is none that this version makes (${shorten(places.join(', '), 100)}); another version or program shares the queue`,
  )
}

/** Makes the key of a job from an unchecked payload. Throws the schema's error when the payload does not match. */
export function jobKeyOf<N extends JobName>(name: N, payload: unknown): string {
  const definition = CATALOG[name]
  return definition.key(definition.payload.parse(payload))
}
