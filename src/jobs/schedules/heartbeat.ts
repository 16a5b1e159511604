import { sleep } from '../../kit/sleep.ts'
import type { ErrorTally } from '../connections/error-tally.ts'
import { HEARTBEAT_FAILING_MS } from '../limits.ts'

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
