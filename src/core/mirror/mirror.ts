import type { Logger } from 'pino'
import { errorCode, errorLine, isAbort, RateLimitedError } from '../../kit/errors.ts'
import type { Clock } from '../../kit/time.ts'
import type { AccountService, Answer } from '../service/service.ts'
import type { WireWorkoutList } from '../service/wire/wire-workouts.ts'
import type { Account } from '../store/account-rows.ts'
import { type RunResult, recordRunFinished, recordRunStarted } from '../store/runs.ts'
import type { SamplesVacuum } from '../store/samples/vacuum.ts'
import type { Store } from '../store/store.ts'

/** What every use case of this room needs. */
export type MirrorDeps = {
  store: Store
  /** the endpoints that need a token, for one account */
  serviceOf: (account: Account) => AccountService
  /** the one list that needs no token */
  listDefaultWorkouts: (baseUrl: string, signal?: AbortSignal) => Promise<Answer<WireWorkoutList>>
  /** called in order when workouts were mirrored */
  onWorkouts: readonly OnWorkouts[]
  vacuum: SamplesVacuum
  log: Logger
  now: Clock
  /** from the configuration */
  options: { historyStart: Date; lagMs: number; keepRaw: boolean }
}

/** Is told that the workout of the day or the saved workouts were mirrored. Returns whether its own work on them succeeded; a false counts as a failed item. */
export type OnWorkouts = (account: Account, mirrored: 'day' | 'saved') => Promise<boolean>

export type MirrorInput = { account: Account; signal?: AbortSignal | undefined }

/** Rows changed, answers fetched, and items that could not be used and are named in the log. */
export type MirrorCounts = { changed: number; fetched: number; failed: number }

/** What a run counts while it works; the row in `sync_runs` is written from it. */
export type RunTally = {
  listed: number
  changed: number
  fetched: number
  absent: number
  failed: number
  /** the size of the file that a backup wrote */
  bytes?: number
}

/**
 * Runs one unit of work with a row in `sync_runs`: written when it starts, and completed with the counts and the outcome
 * when it ends, also when it throws. A row that stays at `running` means that the process died.
 */
export async function withRun<T>(
  store: Store,
  input: { accountId: number | null; resource: string; kind: string },
  work: (tally: RunTally) => Promise<T>,
): Promise<T> {
  const tally: RunTally = { listed: 0, changed: 0, fetched: 0, absent: 0, failed: 0 }
  const runId = await store.transaction((tx) => recordRunStarted(tx, input))
  const finish = (end: Pick<RunResult, 'outcome' | 'errorCode' | 'error'>) =>
    store.transaction((tx) => recordRunFinished(tx, runId, { ...tally, ...end }))
  let result: T
  try {
    result = await work(tally)
  } catch (error) {
    // The work's error is the one to report. When the database is unreachable too, the row stays `running` until a later
    // start marks it abandoned.
    await finish({
      outcome: 'failed',
      errorCode: isAbort(error) ? 'aborted' : errorCode(error),
      error: errorLine(error),
    }).catch(() => undefined)
    throw error
  }
  await finish({ outcome: tally.failed > 0 ? 'partial' : 'done' })
  return result
}

/**
 * Repeats `work` as long as it throws RateLimitedError, which is not a failure: the service's pacer waits for the stated time
 * before it sends the next request.
 */
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
