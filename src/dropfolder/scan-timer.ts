type Wake = {
  /** a hint came: scan soon */
  soon(): void
  /** scan in so many ms at the latest */
  in(ms: number): void
  /** runs a walk, which tells for how many files there was something to do, and notes how long it took */
  timed(walk: () => Promise<number>): Promise<number>
  close(): void
}

/** A copy of many files gives a burst of hints; they are answered by one scan. */
const HINT_MS = 100
/**
 * A walk over 20,000 files takes a good part of a second, and a recorder gives a hint a second for hours. Between walks
 * that find nothing to do lies a growing pause, up to this many times what the last one took, so that they do not cost
 * more than a twentieth of a core.
 */
const MOST_PAUSE_PER_WALK = 20

/** Makes the alarm clock of the scans: after hints, at asked times, and `everyMs()` after the last walk in any case. */
export function makeWake(options: { scan: () => Promise<void>; everyMs: () => number }): Wake {
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let earliest = 0
  let idleWalks = 0
  let closed = false
  const wakeIn = (ms: number) => {
    const at = Math.max(performance.now() + Math.min(ms, options.everyMs()), earliest)
    if (closed || at >= dueAt) return
    clearTimeout(timer)
    dueAt = at
    // It may be over by now, and a newer Node warns of that.
    const waitMs = Math.max(0, at - performance.now())
    timer = setTimeout(() => {
      dueAt = Number.POSITIVE_INFINITY
      void options.scan()
    }, waitMs)
  }
  return {
    soon: () => wakeIn(HINT_MS),
    in: wakeIn,
    async timed(walk) {
      const start = performance.now()
      const found = await walk()
      const end = performance.now()
      idleWalks = found > 0 ? 0 : idleWalks + 1
      earliest = end + Math.min(MOST_PAUSE_PER_WALK, idleWalks) * (end - start)
      wakeIn(options.everyMs())
      return found
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

type Turns = <T>(work: () => Promise<T>) => Promise<T>

/** Makes a gate that lets so many pieces of work run at once; the others wait in the order they came. */
export function makeTurns(atOnce: number): Turns {
  const waiting: Array<() => void> = []
  let running = 0
  return async (work) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      // The place is handed to the next in line; only when nobody waits is it free.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
