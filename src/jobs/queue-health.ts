import type { Logger } from 'pino'
import { errorCode, errorLine } from '../kit/errors.ts'
import { type Clock, SECOND, sleep } from '../kit/time.ts'
import { asQueueError } from './backend.ts'

/** Pause between two beats while the queue is failing, ms. */
const FAILING_EVERY_MS = 2 * SECOND
/** An error is over when it did not occur again for this long, ms. */
const OVER_AFTER_MS = 10 * SECOND

export type Heartbeat = ReturnType<typeof startHeartbeat>

/**
 * Starts to call `beat` every `everyMs`, and sooner while the queue is failing, so that schedules are restored soon after an
 * outage. A failed beat is recorded, never thrown.
 */
export function startHeartbeat(
  { tally, beat }: { tally: ErrorTally; beat: () => Promise<void> },
  { everyMs }: { everyMs: number },
) {
  const stopped = new AbortController()
  let pause = new AbortController()
  const beating = (async () => {
    while (!stopped.signal.aborted) {
      const ms = tally.failing() ? Math.min(FAILING_EVERY_MS, everyMs) : everyMs
      pause = new AbortController()
      await sleep(ms, pause.signal).catch(() => undefined)
      if (stopped.signal.aborted) return
      try {
        await beat()
        tally.settle()
      } catch (error) {
        tally.record('heartbeat', error)
      }
    }
  })()
  return {
    /** Ends the current pause: a connection came back, or an error was recorded. */
    wake: () => pause.abort(),
    /** Stops after the running beat. */
    stop: async () => {
      stopped.abort()
      pause.abort()
      await beating
    },
  }
}

type ErrorTally = ReturnType<typeof makeErrorTally>

/** Makes the tally of the queue connections' errors. `onFirst` is called for the first error after a time without errors. */
export function makeErrorTally(deps: { log: Logger; clock: Clock; onFirst: () => void }) {
  const seen = new Map<string, { where: string; times: number; lastAt: number }>()
  return {
    /** Logs an error once; repetitions are only counted. */
    record(where: string, cause: unknown): void {
      const error = asQueueError(cause)
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
    /** Tells whether errors were recorded that are not over. */
    failing: () => seen.size > 0,
    /** Logs how often each error occurred that is over, and forgets it; the caller calls this after a success. */
    settle(): void {
      const now = deps.clock().getTime()
      for (const [code, { where, times, lastAt }] of seen) {
        if (now - lastAt < OVER_AFTER_MS) continue
        seen.delete(code)
        if (times > 1) deps.log.info({ where, code, times }, 'jobs: queue error is over')
      }
    },
  }
}
