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
 * A type that BullMQ does not know, so that the workers compute the pause from the catalog. Jobs that were queued under
 * another such name wait the same: the workers do not look at the name.
 */
const BACKOFF_TYPE = 'catalog'
/** Jobs in one bulk insert. On Postgres each key takes an advisory lock until commit, and a small server has room for a thousand. */
const ENQUEUE_BATCH = 250

/** BullMQ's numbers: a smaller one runs sooner. The place of a job among those of its account is added, so that accounts take turns. */
const PRIORITIES: Readonly<Record<Priority, number>> = { new: 1, normal: 500_000, changed: 1_000_000 }
const STATES = ['active', 'completed', 'delayed', 'failed', 'prioritized', 'waiting'] as const

/** Makes the queues; `onError` gets the errors of their connections, which never end the process. */
export function makeQueues(deps: {
  backend: Backend
  onError: (where: string, error: unknown) => void
}): Queues {
  const { factory, prefix } = deps.backend
  const make = (name: QueueName): JobQueue => {
    // The factory has the connection, so this option, which BullMQ requires, is empty.
    const queue: JobQueue = new Queue(name, { connection: {}, prefix }, factory)
    queue.on('error', (error) => deps.onError(`queue ${name}`, error))
    return queue
  }
  return { polls: make('polls'), fetches: make('fetches') }
}

/**
 * Adds jobs in bulk and returns how many are new; one whose key is already queued, delayed or active is left out.
 * Throws RejectedError `job_unknown` and the schema's error on a wrong payload, before anything is added, and TransientError `queue_unreachable`
 * when the queue cannot be reached; then some may have been added, and adding them again is harmless.
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
      // BullMQ returns a job that it left out with the id of the existing one.
      added += results.filter((job, index) => job.id === batch[index]?.opts.jobId).length
    } catch (error) {
      const message = `the queue cannot be reached, so the job ${input.name} waits`
      throw new TransientError('queue_unreachable', message, { cause: error })
    }
  }
  return added
}

/** Fetches the number of jobs by queue and state. BullMQ counts waiting jobs with a priority apart; here `waiting` includes them. */
export async function fetchCounts(deps: { queues: Queues }) {
  const read = async (name: QueueName): Promise<Record<string, number>> => {
    const { prioritized = 0, waiting = 0, ...others } = await deps.queues[name].getJobCounts(...STATES)
    return { ...others, waiting: waiting + prioritized }
  }
  const [polls, fetches] = await Promise.all([read('polls'), read('fetches')])
  return { polls, fetches }
}

/** Resumes every paused queue and logs it: another program paused it, and a paused queue stops the mirror without an error. */
export async function resumeQueues(deps: { queues: Queues; log: Logger }): Promise<void> {
  for (const queue of await fetchPaused(deps)) {
    await deps.queues[queue].resume()
    deps.log.warn({ queue }, 'jobs: the queue was paused by another program and is resumed')
  }
}

/** Fetches the names of the queues that are paused. Throws the backend's errors. */
export async function fetchPaused(deps: { queues: Queues }): Promise<QueueName[]> {
  const paused = await Promise.all(QUEUE_NAMES.map((name) => deps.queues[name].isPaused()))
  return QUEUE_NAMES.filter((_name, index) => paused[index])
}
