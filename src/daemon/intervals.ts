import type { Config } from '../config/config.ts'
import type { JobsOptions } from '../jobs/jobs.ts'
import { DAY, HOUR, SECOND } from '../kit/durations.ts'

/** Tokens live for a week and are refreshed at half of it; a look twice a day is early enough. */
const REFRESH_LOOK_EVERY_MS = DAY / 2
/** Loads and status move with the hours; a row is kept only when they did. */
const TRAINING_INFO_EVERY_MS = 1 * HOUR
/** What a crash or a flushed queue left behind, and what was paused, is found again within this. */
const SWEEP_EVERY_MS = 10 * SECOND

/** Lists how often the daemon does each thing that is scheduled, in ms. */
export function intervalsOf(config: Config): JobsOptions['every'] {
  return {
    poll: config.mirror.pollEveryMs,
    reconcile: config.mirror.reconcileEveryMs,
    refresh: REFRESH_LOOK_EVERY_MS,
    sweep: SWEEP_EVERY_MS,
    trainingInfo: TRAINING_INFO_EVERY_MS,
    workouts: DAY,
  }
}
