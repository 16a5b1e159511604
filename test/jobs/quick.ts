import type { JobsOptions } from '../../src/jobs/jobs.ts'
import { HOUR } from '../../src/kit/time.ts'

/** Short times, so that a test sees in a second what takes minutes otherwise. */
export const QUICK = {
  roles: { worker: true },
  every: { poll: HOUR, reconcile: HOUR, refresh: HOUR, sweep: HOUR, trainingInfo: HOUR, workouts: HOUR },
  concurrency: 4,
  backoff: { firstMs: 40, factor: 2, maxMs: 200 },
  closeGraceMs: 5_000,
} satisfies Partial<JobsOptions>
