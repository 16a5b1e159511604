import { HOUR } from '../../../src/kit/time.ts'

/** Time as a run turns it by hand: the true time, and the mirror's own clock beside it, which may be wrong. */
export type HandClock = ReturnType<typeof makeHandClock>

/** Samples are awaited for seven days; a run keeps well inside them, or giving up would be right. */
const LONGEST_RUN_MS = 72 * HOUR

/** Makes clocks that show `start`, and stand still until they are turned. */
export function makeHandClock(start: Date) {
  let trueMs = start.getTime()
  let skewMs = 0
  let furthestMs = trueMs
  const end = trueMs + LONGEST_RUN_MS
  const advance = (ms: number) => {
    trueMs = Math.max(trueMs, Math.min(end, trueMs + ms))
  }
  return {
    /** the true time, by which the service lives but for a skew of its own */
    now: () => new Date(trueMs),
    /** the mirror's clock; each look takes a millisecond, so that no two moments are the same */
    own() {
      trueMs += 1
      furthestMs = Math.max(furthestMs, trueMs + skewMs)
      return new Date(trueMs + skewMs)
    },
    advance,
    /** how far the mirror's clock is ahead of the true time, in ms */
    setOwnSkew(ms: number) {
      skewMs = ms
    },
    /** moves the true time past every moment that any clock has shown, and `ms` on */
    passAll(ms: number) {
      trueMs = Math.max(trueMs, furthestMs) + ms
    },
    /** a pause that takes no time but on these clocks */
    async sleep(ms: number, signal?: AbortSignal) {
      await new Promise((resolve) => setImmediate(resolve))
      signal?.throwIfAborted()
      advance(ms)
    },
  }
}
