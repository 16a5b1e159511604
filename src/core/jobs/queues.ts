import { randomBytes } from 'node:crypto'
import { type IQueueBackend, Queue } from 'bullmq'
import type { Logger } from 'pino'
import { TransientError } from '../../kit/errors.ts'
import type { Backend } from './backend.ts'
import {
  ATTEMPTS,
  type Catalog,
  type JobName,
  jobKeyOf,
  jobOf,
  KEEP_COMPLETED,
  KEEP_FAILED,
  type PayloadOf,
  QUEUE_NAMES,
  type QueueName,
} from './catalog.ts'

export type JobQueue = Queue<unknown, unknown, string, unknown, unknown, string, IQueueBackend, object>
export type Queues = Readonly<Record<QueueName, JobQueue>>
type Priority = 'new' | 'normal' | 'changed'
export type Enqueue = <N extends JobName>(
  name: N,
  payloads: readonly PayloadOf<N>[],
  options?: Readonly<{ priority?: Priority }>,
) => Promise<number>

/**
 * A backoff type that BullMQ does not know, so that workers compute the pause from BACKOFF. Jobs that were queued with another unknown type
 * get the same pause, because workers ignore the type.
 */
const BACKOFF_TYPE = 'catalog'
/** Jobs per bulk insert. On Postgres each key holds an advisory lock until commit, and a small server has room for a thousand. */
const ENQUEUE_BATCH = 250

/** Priorities of BullMQ: smaller runs sooner. The index of a job within its account is added, so that accounts take turns. */
const PRIORITIES: Readonly<Record<Priority, number>> = { new: 1, normal: 500_000, changed: 1_000_000 }
const STATES = ['active', 'completed', 'delayed', 'failed', 'prioritized', 'waiting'] as const

/** Makes the queues. `onError` gets the errors of the queues' connections, so that these errors never end the process. */
export function makeQueues(deps: {
  backend: Backend
  onError: (where: string, error: unknown) => void
}): Queues {
  const { factory, prefix } = deps.backend
  const make = (name: QueueName): JobQueue => {
    // BullMQ requires this option, but the factory makes the connection.
    const queue: JobQueue = new Queue(name, { connection: {}, prefix }, factory)
    queue.on('error', (error) => deps.onError(`queue ${name}`, error))
    return queue
  }
  return { polls: make('polls'), fetches: make('fetches') }
}

/**
 * Adds jobs in bulk and returns how many are new; a job whose key is already queued, delayed or active is skipped. Throws RejectedError
 * `job_unknown`, or the error of the schema for a wrong payload, before it adds any job. Throws TransientError `queue_unreachable` if the
 * queue fails: some jobs may have been added, and adding them again is harmless.
 */
export async function enqueueJobs(
  deps: { queues: Queues; catalog: Catalog },
  input: { name: string; payloads: readonly unknown[]; priority?: Priority | undefined },
): Promise<number> {
  const job = jobOf(deps.catalog, input.name)
  const { queue = 'polls', attempts = ATTEMPTS } = job
  const priority = PRIORITIES[input.priority ?? 'normal']
  const distinct = new Map(input.payloads.map((payload) => [jobKeyOf(input.name, job, payload), payload]))
  const places = new Map<unknown, number>()
  const jobs = [...distinct].map(([key, data]) => {
    const { accountId } = Object(data)
    const place = places.get(accountId) ?? 0
    places.set(accountId, place + 1)
    const opts = {
      jobId: `${key}-${randomBytes(6).toString('hex')}`,
      deduplication: { id: key },
      priority: priority + place,
      attempts,
      backoff: { type: BACKOFF_TYPE },
      removeOnComplete: KEEP_COMPLETED,
      removeOnFail: KEEP_FAILED,
      stackTraceLimit: 1,
    }
    return { name: input.name, data, opts }
  })
  let added = 0
  for (let start = 0; start < jobs.length; start += ENQUEUE_BATCH) {
    const batch = jobs.slice(start, start + ENQUEUE_BATCH)
    try {
      const results = await deps.queues[queue].addBulk(batch)
      // For a job that it skips, BullMQ returns the id of the existing one.
      added += results.filter((job, index) => job.id === batch[index]?.opts.jobId).length
    } catch (error) {
      const message = `the queue cannot be reached, so the job ${input.name} has to wait`
      throw new TransientError('queue_unreachable', message, { cause: error })
    }
  }
  return added
}

/** Fetches the number of jobs by queue and state. BullMQ counts waiting jobs with a priority separately; here `waiting` includes them. */
export async function fetchCounts(deps: { queues: Queues }) {
  const read = async (name: QueueName): Promise<Record<string, number>> => {
    const { prioritized = 0, waiting = 0, ...others } = await deps.queues[name].getJobCounts(...STATES)
    return { ...others, waiting: waiting + prioritized }
  }
  const [polls, fetches] = await Promise.all([read('polls'), read('fetches')])
  return { polls, fetches }
}

/** Resumes every paused queue and logs it. Only another program pauses a queue, and a paused queue stops the mirror without an error. */
export async function resumeQueues(deps: { queues: Queues; log: Logger }): Promise<void> {
  for (const queue of await fetchPaused(deps)) {
    await deps.queues[queue].resume()
    deps.log.warn({ queue }, 'jobs: resumed the queue that another program had paused')
  }
}

/** Fetches the names of the paused queues. Throws the backend's errors. */
export async function fetchPaused(deps: { queues: Queues }): Promise<QueueName[]> {
  const paused = await Promise.all(QUEUE_NAMES.map((name) => deps.queues[name].isPaused()))
  return QUEUE_NAMES.filter((_name, index) => paused[index])
}
