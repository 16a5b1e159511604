import { randomBytes } from 'node:crypto'
import { type IQueueBackend, Queue } from 'bullmq'
import type { Logger } from 'pino'
import { TransientError } from '../kit/errors.ts'
import type { Backend } from './backend.ts'
import { CATALOG, type JobName, type PayloadOf, QUEUE_NAMES, type QueueName } from './catalog.ts'

import { keyOf } from './handlers.ts'
import { ENQUEUE_BATCH } from './limits.ts'

export type JobQueue = Queue<unknown, unknown, string, unknown, unknown, string, IQueueBackend, object>
export type Queues = Readonly<Record<QueueName, JobQueue>>
type Priority = 'new' | 'normal' | 'backfill'
export type Enqueue = <N extends JobName>(
  name: N,
  payloads: readonly PayloadOf<N>[],
  options?: Readonly<{ priority?: Priority }>,
) => Promise<number>

/** On Redis every key begins with it; on Postgres the schema `bullmq` does the same. */
export const PREFIX = 'musette'
/** The name of the backoff strategy that the workers compute. */
const BACKOFF = 'patient'

/** BullMQ's numbers: smaller is sooner, and none at all is soonest. */
const PRIORITIES: Readonly<Record<Priority, number>> = { new: 1, normal: 5, backfill: 10 }
const STATES = ['active', 'completed', 'delayed', 'failed', 'prioritized', 'waiting'] as const

/** Makes the queues; `onError` hears the errors of their connections, which never end the process. */
export function makeQueues(deps: {
  backend: Backend
  onError: (where: string, error: unknown) => void
}): Queues {
  const make = (name: QueueName): JobQueue => {
    // The connection is inside the factory, so the option that BullMQ demands here is empty.
    const queue: JobQueue = new Queue(name, { connection: {}, prefix: PREFIX }, deps.backend.factory)
    queue.on('error', (error) => deps.onError(`queue ${name}`, error))
    return queue
  }
  return { polls: make('polls'), fetches: make('fetches') }
}

/**
 * Adds jobs in bulk and returns how many are new; one whose key is already queued, delayed or active is left out.
 * Throws the schema's error on a wrong payload, before anything is added, and TransientError `queue_unreachable`
 * when the queue cannot be reached; then some may have been added, and adding them again is harmless.
 */
export async function enqueueJobs(
  deps: { queues: Queues },
  input: { name: JobName; payloads: readonly unknown[]; priority?: Priority | undefined },
): Promise<number> {
  const { queue, attempts, completed, failed } = CATALOG[input.name]
  const priority = PRIORITIES[input.priority ?? 'normal']
  const distinct = new Map(input.payloads.map((payload) => [keyOf(input.name, payload), payload]))
  const jobs = [...distinct].map(([key, data]) => ({
    name: input.name,
    data,
    opts: {
      jobId: `${key}-${randomBytes(6).toString('hex')}`,
      deduplication: { id: key },
      priority,
      attempts,
      backoff: { type: BACKOFF },
      removeOnComplete: completed,
      removeOnFail: failed,
      stackTraceLimit: 1,
    },
  }))
  let added = 0
  for (let start = 0; start < jobs.length; start += ENQUEUE_BATCH) {
    const batch = jobs.slice(start, start + ENQUEUE_BATCH)
    try {
      const results = await deps.queues[queue].addBulk(batch)
      // A job that was left out comes back with the id of its twin.
      added += results.filter((job, index) => job.id === batch[index]?.opts.jobId).length
    } catch (error) {
      throw new TransientError(
        'queue_unreachable',
        `jobs: enqueue ${input.name}: the queue cannot be reached`,
        {
          cause: error,
        },
      )
    }
  }
  return added
}

/**
 * Fetches how many jobs each queue has in each state. BullMQ counts waiting jobs with a priority apart; here
 * `waiting` is both. Throws the backend's errors.
 */
export async function fetchCounts(deps: {
  queues: Queues
}): Promise<Record<QueueName, Record<string, number>>> {
  const read = async (name: QueueName) => {
    const { prioritized = 0, waiting = 0, ...others } = await deps.queues[name].getJobCounts(...STATES)
    return { ...others, waiting: waiting + prioritized }
  }
  const [polls, fetches] = await Promise.all([read('polls'), read('fetches')])
  return { polls, fetches }
}

/**
 * Resumes every queue that somebody paused, and says so: musette itself never pauses one, and a paused queue stops the
 * mirror without a word. Throws the backend's errors.
 */
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
