import type { Logger } from 'pino'
import { z } from 'zod'
import { RejectedError } from '../kit/errors.ts'
import { shorten } from '../kit/text.ts'
import { type Backoff, DAY, HOUR, MINUTE, SECOND } from '../kit/time.ts'

/** The first pause is 5 to 10 s, the longest 7 to 15 min: few requests in an outage of hours, and its end is noticed soon. */
export const BACKOFF: Backoff = { firstMs: 10 * SECOND, factor: 3, maxMs: 15 * MINUTE }
/** How many completed jobs a queue keeps, and for how many seconds: only for a person who watches it, an hour and about two pages. */
export const KEEP_COMPLETED = { age: HOUR / SECOND, count: 200 }
/** Dead jobs are kept for a person: a week, and few enough that an outage cannot fill the disk. */
export const KEEP_FAILED = { age: (7 * DAY) / SECOND, count: 1_000 }

const id = z.int().positive()
const account = z.strictObject({ accountId: id })
const nothing = z.strictObject({})

/** Tries of a job that says no other number: then the next scheduled one takes over. */
export const ATTEMPTS = 6

const ENTRIES = {
  'poll-activities': { payload: account, schedule: { every: 'poll', per: 'account', atStart: true } },
  'reconcile-activities': { payload: account, schedule: { every: 'reconcile', per: 'account' } },
  'scrub-activities': { payload: account, attempts: 3, schedule: { every: 'scrub', per: 'account' } },
  'fetch-activity': {
    queue: 'fetches',
    payload: z.strictObject({ accountId: id, activityId: id }),
    attempts: 10, // about an hour and a half; the sweep enqueues it again later
  },
  'refresh-token': { payload: account, schedule: { every: 'refresh', per: 'account', atStart: true } },
  'check-upload': {
    payload: z.strictObject({ accountId: id, contentId: z.hex().length(64) }),
    attempts: 1, // the ledger has the time of the next check, and the sweep enqueues it then
  },
  'poll-training-info': {
    payload: account,
    schedule: { every: 'trainingInfo', per: 'account', atStart: true },
  },
  'poll-workouts': {
    payload: account,
    attempts: 20, // some four hours: the next scheduled poll is a day away
    schedule: { every: 'workouts', per: 'account' },
  },
  'export-history': { payload: nothing, schedule: { every: 'export', per: 'daemon', atStart: true } },
  'back-up': {
    payload: nothing,
    attempts: 10, // about an hour and a half: the next scheduled one may be a day away
    schedule: { every: 'backup', per: 'daemon', atStart: true }, // its handler reads when the newest one was made
  },
  'verify-backup': {
    payload: nothing,
    attempts: 2, // the next scheduled one comes a day later
    schedule: { every: 'verifyBackup', per: 'daemon', atStart: true }, // its handler reads when one was last compared
  },
  // Some minutes: then the next scheduled one takes over.
  'send-heartbeat': { payload: nothing, attempts: 5, schedule: { every: 'heartbeat', per: 'daemon' } },
  // The next sweep comes within seconds.
  sweep: { payload: nothing, attempts: 2, schedule: { every: 'sweep', per: 'daemon', atStart: true } },
} as const satisfies Readonly<Record<string, JobDefinition>>

type Payloads = { [N in keyof typeof ENTRIES]: z.infer<(typeof ENTRIES)[N]['payload']> }

export type JobName = keyof typeof ENTRIES
export type PayloadOf<N extends JobName> = Payloads[N]

/** The interval of each schedule, ms; undefined for work that the configuration does not ask for. */
export type Intervals = Readonly<Record<ScheduleName, number | undefined>>
type ScheduleName = Extract<(typeof ENTRIES)[JobName], { schedule: unknown }>['schedule']['every']

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

/** Everything about a kind of job except its handler, backoff and retention. */
type JobDefinition<P = unknown> = Readonly<{
  /** `polls` when it says none */
  queue?: QueueName
  /** Contains ids only, never a secret or a file. */
  payload: z.ZodType<P>
  /** Tries after which a job that fails for transient reasons is dead; ATTEMPTS when it says none. */
  attempts?: number
  /**
   * The interval that repeats it, and whether each account or the daemon has a schedule of it. The interval holds over restarts: a
   * job that was due meanwhile runs at the start, and no other; with `atStart` it also runs at each start of a daemon.
   */
  schedule?: Readonly<{ every: string; per: 'account' | 'daemon'; atStart?: true }>
}>

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
    `unknown job payload (${shorten(places.join(', '), 100)}); another version or program shares the queue`,
  )
}

/**
 * Makes the key of a job from an unchecked payload: its name and each id. Two jobs with the same key are one job: the key is the
 * deduplication id and the schedule's id. Throws the schema's error when the payload does not match.
 */
export function jobKeyOf(name: JobName, payload: unknown): string {
  const ids = Object.entries(CATALOG[name].payload.parse(payload))
  return [name, ...ids.flatMap(([field, id]) => [field.replace(/Id$/, ''), id])].join('-')
}
