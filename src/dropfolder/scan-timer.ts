type ScanTimer = {
  /** schedules a scan soon, after a hint of the system */
  scanSoon(): void
  /** schedules a scan in so many ms at the latest */
  scanIn(ms: number): void
  /** runs a walk, which returns for how many files there was work, and measures how long it took */
  timeWalk(walk: () => Promise<number>): Promise<number>
  close(): void
}

/** A copy of many files gives a burst of hints; they are answered by one scan. */
const HINT_MS = 100
/**
 * A walk over 20,000 files takes a good part of a second, and a recorder gives a hint a second for hours. Between walks
 * that find no work lies a growing pause, up to this many times the duration of the last walk, so that walks cost no
 * more than a twentieth of a core.
 */
const MAX_PAUSE_FACTOR = 20

/** Makes the timer of the scans: after hints, at requested times, and at the latest `everyMs()` after the last walk. */
export function makeScanTimer(options: { scan: () => Promise<void>; everyMs: () => number }): ScanTimer {
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let earliest = 0
  let idleWalks = 0
  let closed = false
  const scanIn = (ms: number) => {
    const at = Math.max(performance.now() + Math.min(ms, options.everyMs()), earliest)
    if (closed || at >= dueAt) return
    clearTimeout(timer)
    dueAt = at
    // The time may have passed by now, and a newer Node warns of a negative delay.
    const waitMs = Math.max(0, at - performance.now())
    timer = setTimeout(() => {
      dueAt = Number.POSITIVE_INFINITY
      void options.scan()
    }, waitMs)
  }
  return {
    scanSoon: () => scanIn(HINT_MS),
    scanIn,
    async timeWalk(walk) {
      const start = performance.now()
      const found = await walk()
      const end = performance.now()
      idleWalks = found > 0 ? 0 : idleWalks + 1
      earliest = end + Math.min(MAX_PAUSE_FACTOR, idleWalks) * (end - start)
      scanIn(options.everyMs())
      return found
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
