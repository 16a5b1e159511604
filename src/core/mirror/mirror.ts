import type { Logger } from 'pino'
import { RateLimitedError } from '../../kit/errors.ts'
import type { Clock } from '../../kit/time.ts'
import type { AccountService, Answer } from '../service/service.ts'
import type { WireWorkoutList } from '../service/wire/wire-workouts.ts'
import type { Account } from '../store/account-rows.ts'
import type { RunTally } from '../store/runs.ts'
import type { SamplesVacuum } from '../store/samples/vacuum.ts'
import type { Store } from '../store/store.ts'

/** Dependencies of the mirror's use cases. */
export type MirrorDeps = {
  store: Store
  /** returns the endpoints that need a token, for one account */
  serviceOf: (account: Account) => AccountService
  /** fetches the default workout list, which needs no token */
  listDefaultWorkouts: (baseUrl: string, signal?: AbortSignal) => Promise<Answer<WireWorkoutList>>
  /** called in order after workouts were mirrored */
  onWorkouts: readonly OnWorkouts[]
  vacuum: SamplesVacuum
  log: Logger
  now: Clock
  /** from the configuration */
  options: { historyStart: Date; lagMs: number; keepRaw: boolean }
}

/** Called after the workout of the day or the saved workouts were mirrored. Returns whether the work succeeded; false counts as a failed item. */
export type OnWorkouts = (account: Account, mirrored: 'day' | 'saved') => Promise<boolean>

export type MirrorInput = { account: Account; signal?: AbortSignal | undefined }

/** Changed rows, fetched responses, and unusable items, which the log names. */
export type MirrorCounts = Pick<RunTally, 'changed' | 'fetched' | 'failed'>

/** Repeats `work` as long as it throws RateLimitedError. This error is not a failure, because the pacer waits for the stated time. */
export async function retryWhenRateLimited<T>(deps: Pick<MirrorDeps, 'log'>, work: () => Promise<T>) {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error
      deps.log.warn({ waitMs: error.retryAfterMs }, 'the service asks to wait')
    }
  }
}
