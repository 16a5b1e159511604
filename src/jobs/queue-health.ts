import type { Logger } from 'pino'
import { errorCode, errorLine } from '../kit/errors.ts'
import { type Clock, sleep } from '../kit/time.ts'
import { HEARTBEAT_FAILING_MS } from './limits.ts'

export type Heartbeat = Readonly<{
  /** Beats at once instead of at the end of the pause: a connection came back, or an error was seen. */
  wake(): void
  /** Ends the beating after the beat that is under way. */
  stop(): Promise<void>
}>

/**
 * Starts to call `beat` every `everyMs`, and sooner while the queue is failing, so that schedules are back soon after
 * an outage. A failed beat is recorded, never thrown.
 */
export function startHeartbeat(
  deps: { tally: () => ErrorTally; beat: () => Promise<void> },
  input: { everyMs: number },
): Heartbeat {
  const stopped = new AbortController()
  let pause = new AbortController()
  const beating = (async () => {
    while (!stopped.signal.aborted) {
      const tally = deps.tally()
      const ms = tally.failing() ? Math.min(HEARTBEAT_FAILING_MS, input.everyMs) : input.everyMs
      pause = new AbortController()
      await sleep(ms, pause.signal).catch(() => undefined)
      if (stopped.signal.aborted) return
      try {
        await deps.beat()
        tally.settle()
      } catch (error) {
        tally.record('heartbeat', error)
      }
    }
  })()
  return {
    wake: () => pause.abort(),
    stop: async () => {
      stopped.abort()
      pause.abort()
      await beating
    },
  }
}

/** An error that was not seen again for this long, ms, is over. */
const OVER_AFTER_MS = 10_000

type ErrorTally = Readonly<{
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
