import { z } from 'zod'
import { type Backoff, DAY, HOUR, MINUTE, SECOND } from '../kit/time.ts'

const id = z.int().positive()
const account = z.strictObject({ accountId: id })
const nothing = z.strictObject({})

/** Waits 5 to 10 s first and 7 to 15 min at most: an outage of hours costs few requests, its end is soon noticed. */
const PATIENT = { firstMs: 10 * SECOND, factor: 3, maxMs: 15 * MINUTE }
/** Done jobs are only looked at while something is being watched: one hour, and never more than a page or two. */
const KEEP_DONE = { age: HOUR / SECOND, count: 200 }
/** Dead jobs wait for a person: a week, and few enough that a broken service cannot fill the disk. */
const KEEP_DEAD = { age: (7 * DAY) / SECOND, count: 1_000 }

const ENTRIES = {
  'poll-activities': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `poll-activities-account-${accountId}`,
    attempts: 6, // then the next scheduled poll takes over
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
    schedule: { every: 'poll', per: 'account' },
  }),
  'reconcile-activities': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `reconcile-activities-account-${accountId}`,
    attempts: 6, // then the next scheduled one takes over
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
    schedule: { every: 'reconcile', per: 'account' },
  }),
  'fetch-activity': defineJob({
    queue: 'fetches',
    payload: z.strictObject({ accountId: id, activityId: id }),
    key: ({ accountId, activityId }) => `fetch-activity-account-${accountId}-activity-${activityId}`,
    attempts: 10, // about an hour and a half; the sweep asks again later
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
  }),
  'refresh-token': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `refresh-token-account-${accountId}`,
    attempts: 6, // then the next scheduled look takes over
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
    schedule: { every: 'refresh', per: 'account' },
  }),
  'settle-upload': defineJob({
    queue: 'polls',
    payload: z.strictObject({ accountId: id, contentId: z.hex().length(64) }),
    key: ({ accountId, contentId }) => `settle-upload-account-${accountId}-content-${contentId}`,
    attempts: 1, // the ledger says when to look again, and the sweep enqueues it then
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
  }),
  'poll-training-info': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `poll-training-info-account-${accountId}`,
    attempts: 6, // then the next scheduled poll takes over
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
    schedule: { every: 'trainingInfo', per: 'account' },
  }),
  'poll-workouts': defineJob({
    queue: 'polls',
    payload: account,
    key: ({ accountId }) => `poll-workouts-account-${accountId}`,
    attempts: 20, // some four hours: the next scheduled poll is a day away
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
    schedule: { every: 'workouts', per: 'account' },
  }),
  sweep: defineJob({
    queue: 'polls',
    payload: nothing,
    key: () => 'sweep',
    attempts: 2, // the next sweep is never far
    backoff: PATIENT,
    completed: KEEP_DONE,
    failed: KEEP_DEAD,
    schedule: { every: 'sweep', per: 'daemon' },
  }),
}

type Payloads = { [N in keyof typeof ENTRIES]: z.infer<(typeof ENTRIES)[N]['payload']> }

export type JobName = keyof typeof ENTRIES
export type PayloadOf<N extends JobName> = Payloads[N]

type Scheduled = { [N in JobName]: NonNullable<(typeof ENTRIES)[N]['schedule']>['every'] }[JobName]
/** The names of the intervals: one for each `schedule.every` in the catalog. */
export type ScheduleName = Scheduled

/**
 * Every kind of job there is. A new one is one entry here and one handler; start-up fails when either is missing.
 * A key keeps an activity in the queue once. BullMQ drops a job that is added while its twin is being worked on,
 * and that loses nothing: the truth is the `wanted` rows in Postgres, and the sweep enqueues again what is left.
 */
export const CATALOG: { readonly [N in JobName]: JobDefinition<Payloads[N]> } = ENTRIES

export const JOB_NAMES: readonly JobName[] = Object.keys(ENTRIES).filter(isJobName)

/** Tells whether a word is the name of a job in the catalog. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(ENTRIES, name)
}

/** The two queues: short jobs that must not wait behind a backfill, and the fetches. */
export type QueueName = 'polls' | 'fetches'

export const QUEUE_NAMES: readonly QueueName[] = ['polls', 'fetches']

/** How many finished jobs a queue keeps and for how long (`age` in seconds, as BullMQ counts it). */
type Retention = Readonly<{ age: number; count: number }>

/** All there is to know about a kind of job but its handler. */
type JobDefinition<P = unknown> = Readonly<{
  queue: QueueName
  /** Ids only: never a secret, never a file. */
  payload: z.ZodType<P>
  /** Two jobs with the same key are one job: the key is the deduplication id and the schedule's id. */
  key: (payload: P) => string
  /** Tries after which a job that fails for passing reasons is dead. */
  attempts: number
  backoff: Backoff
  completed: Retention
  failed: Retention
  /** The interval that repeats it, and whether there is one schedule an account or one for all. */
  schedule?: Readonly<{ every: string; per: 'account' | 'daemon' }>
}>

/** Keeps the exact types of one catalog entry, so that payload and key are checked against each other. */
function defineJob<P, const E extends string = never>(
  definition: JobDefinition<P> & { schedule?: { every: E; per: 'account' | 'daemon' } },
): JobDefinition<P> & { schedule?: { every: E; per: 'account' | 'daemon' } } {
  return definition
}
