import type { Logger } from 'pino'
import type { Clock } from '../../kit/clock.ts'
import { errorCode, errorLine } from '../../kit/errors.ts'

/** An error that was not seen again for this long, ms, is over. */
const OVER_AFTER_MS = 10_000

export type ErrorTally = Readonly<{
  /** Says an error once; repetitions are only counted. */
  record(where: string, error: unknown): void
  /** Whether errors were recorded that have not been settled. */
  failing(): boolean
  /** Called after something worked: says how often each error came that is over, and forgets it. */
  settle(): void
}>

/** Makes the counter of the queue connections' errors. `onFirst` hears the first error after a quiet time. */
export function makeErrorTally(deps: { log: Logger; clock: Clock; onFirst: () => void }): ErrorTally {
  const seen = new Map<string, { where: string; times: number; lastAt: number }>()
  return {
    record(where, error) {
      const code = error instanceof Error ? `${error.name} ${errorCode(error)}` : 'unexpected'
      const now = deps.clock().getTime()
      const known = seen.get(code)
      if (known) {
        known.times += 1
        known.lastAt = now
        return
      }
      seen.set(code, { where, times: 1, lastAt: now })
      deps.log.warn({ where, code: errorCode(error), error: errorLine(error) }, 'jobs: queue error')
      if (seen.size === 1) deps.onFirst()
    },
    failing: () => seen.size > 0,
    settle() {
      const now = deps.clock().getTime()
      for (const [code, { where, times, lastAt }] of seen) {
        if (now - lastAt < OVER_AFTER_MS) continue
        seen.delete(code)
        if (times > 1) deps.log.info({ where, code, times }, 'jobs: queue error is over')
      }
    },
  }
}
