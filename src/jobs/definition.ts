import type { z } from 'zod'
import type { Backoff } from '../kit/backoff.ts'

/** The two queues: short jobs that must not wait behind a backfill, and the fetches. */
export type QueueName = 'polls' | 'fetches'

export const QUEUE_NAMES: readonly QueueName[] = ['polls', 'fetches']

/** How many finished jobs a queue keeps and for how long (`age` in seconds, as BullMQ counts it). */
export type Retention = Readonly<{ age: number; count: number }>

/** All there is to know about a kind of job but its handler. */
export type JobDefinition<P = unknown> = Readonly<{
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
export function defineJob<P, const E extends string = never>(
  definition: JobDefinition<P> & { schedule?: { every: E; per: 'account' | 'daemon' } },
): JobDefinition<P> & { schedule?: { every: E; per: 'account' | 'daemon' } } {
  return definition
}
