import { RateLimitedError } from '../kit/errors.ts'
import { type Clock, MINUTE, SECOND, type Sleep } from '../kit/time.ts'

/** Whose turn a call is (accounts take turns), and where it goes (a pause is per origin). */
type Turn = { queue: string; origin: string }

export type Pacer = {
  /**
   * Waits for a turn and runs `work` in it. Throws the signal's reason when it aborts while waiting, and RateLimitedError
   * `rate_limited` when the origin is held back for longer than `longestPauseMs`.
   */
  run<T>(turn: Turn, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Holds back every call to an origin for `ms` from now; a longer pause that runs already stays. */
  pause(origin: string, ms: number): void
  /** How long calls to an origin are still held back, in ms. */
  pausedMs(origin: string): number
  /** Refuses everyone who waits, and whoever comes later, with `reason`. */
  close(reason: Error): void
}

/** Hears by how long, in ms, the service's wish has put off the calls to an origin, beyond a pause that ran already. */
export type OnPause = (ms: number) => void

type Waiter = { turn: Turn; start: () => void; refuse: (reason: unknown) => void }

/** A tenth of the minute's requests may go at once, but never more than this: what a page of a browser asks for. */
const MAX_BURST = 10

/**
 * Makes the one pace of all calls to the service: at most `concurrency` at a time, at most `requestsPerMinute` in any
 * 60 s, spread evenly after a small burst. Callers are served in turn by queue, first come first within one. A pause of
 * an origin up to `longestPauseMs` is waited out; a longer one refuses its callers, so that they hold up no others.
 */
export function makePacer(
  deps: { now: Clock; sleep: Sleep; onPause?: OnPause | undefined },
  options: { concurrency: number; requestsPerMinute: number; longestPauseMs?: number | undefined },
): Pacer {
  const rate = makeRate(options.requestsPerMinute)
  const waiting: FairQueue<Waiter> = makeFairQueue()
  const pauses = new Map<string, { until: number; ms: number }>()
  const longestPauseMs = options.longestPauseMs ?? Number.POSITIVE_INFINITY
  let running = 0
  let alarm: AbortController | undefined
  let closed: Error | undefined

  const pausedMs = (origin: string): number => {
    const pause = pauses.get(origin)
    if (!pause) return 0
    const left = pause.until - deps.now().getTime()
    // More is left than was asked for when the clock was set back: the pause must not last as long as the clock jumped.
    if (left > 0 && left <= pause.ms) return left
    pauses.delete(origin)
    return 0
  }

  const wakeIn = (ms: number): void => {
    const own = new AbortController()
    alarm = own
    deps.sleep(ms, own.signal).then(
      () => {
        if (alarm === own) pump()
      },
      () => undefined,
    )
  }

  const pump = (): void => {
    alarm?.abort()
    alarm = undefined
    while (running < options.concurrency && waiting.size() > 0) {
      const now = deps.now().getTime()
      const rateMs = rate.waitMs(now)
      if (rateMs > 0) {
        wakeIn(rateMs)
        return
      }
      const next = waiting.take((waiter) => pausedMs(waiter.turn.origin) === 0)
      if (!next) {
        wakeIn(
          waiting
            .list()
            .reduce((least, { turn }) => Math.min(least, pausedMs(turn.origin)), Number.POSITIVE_INFINITY),
        )
        return
      }
      rate.spend(now)
      running += 1
      next.start()
    }
  }

  const turnFor = (turn: Turn, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      if (closed) return reject(closed)
      const pauseMs = pausedMs(turn.origin)
      if (pauseMs > longestPauseMs) return reject(rateLimited(pauseMs))
      const give = (settle: () => void) => {
        signal?.removeEventListener('abort', abandon)
        settle()
      }
      const waiter: Waiter = {
        turn,
        start: () => give(resolve),
        refuse: (reason) => give(() => reject(reason)),
      }
      const abandon = (): void => {
        waiting.remove(turn.queue, waiter)
        waiter.refuse(signal?.reason)
        pump()
      }
      signal?.addEventListener('abort', abandon, { once: true })
      waiting.add(turn.queue, waiter)
      pump()
    })

  return {
    async run(turn, work, signal) {
      signal?.throwIfAborted()
      await turnFor(turn, signal)
      try {
        return await work()
      } finally {
        running -= 1
        pump()
      }
    },
    pause(origin, ms) {
      const longerMs = ms - pausedMs(origin)
      if (longerMs > 0) {
        pauses.set(origin, { until: deps.now().getTime() + ms, ms })
        deps.onPause?.(longerMs)
      }
      if (ms > longestPauseMs) {
        for (const waiter of waiting.list()) {
          if (waiter.turn.origin !== origin) continue
          waiting.remove(waiter.turn.queue, waiter)
          waiter.refuse(rateLimited(pausedMs(origin)))
        }
      }
      pump()
    },
    pausedMs,
    close(reason) {
      closed = reason
      alarm?.abort()
      alarm = undefined
      for (const waiter of waiting.drain()) waiter.refuse(reason)
    },
  }
}

function rateLimited(pauseMs: number): RateLimitedError {
  const text = `the service asked to wait, and ${Math.ceil(pauseMs / SECOND)} s of that are left`
  return new RateLimitedError('rate_limited', text, pauseMs)
}

/**
 * A leaky bucket (GCRA). `ahead` is the moment up to which requests are already spent. The even pace is a little below
 * `perMinute`, by as much as the burst, so that burst and pace together never pass it in any 60 s.
 */
function makeRate(perMinute: number) {
  const burst = Math.min(MAX_BURST, Math.max(1, Math.floor(perMinute / 10)))
  const intervalMs = MINUTE / (perMinute - burst + 1)
  const allowanceMs = (burst - 1) * intervalMs
  let ahead = 0
  // A clock that is set back must not hold everyone for as long as it jumped.
  const clamp = (now: number): void => {
    ahead = Math.min(ahead, now + allowanceMs + intervalMs)
  }
  return {
    waitMs(now: number): number {
      clamp(now)
      return Math.max(0, Math.ceil(ahead - allowanceMs - now))
    },
    spend(now: number): void {
      ahead = Math.max(now, ahead) + intervalMs
    },
  }
}

/** Items that wait in several queues; the queues take turns, and within one the first come is the first served. */
type FairQueue<T> = {
  add(queue: string, item: T): void
  /** Takes the next item that may go; its queue then stands last. Undefined when none may. */
  take(may: (item: T) => boolean): T | undefined
  remove(queue: string, item: T): void
  list(): T[]
  drain(): T[]
  size(): number
}

/** Makes an empty fair queue. */
function makeFairQueue<T>(): FairQueue<T> {
  // A Map remembers the order of insertion, so a queue that is taken out and put in again stands last.
  const queues = new Map<string, T[]>()
  const list = (): T[] => [...queues.values()].flat()

  const remove = (queue: string, item: T): boolean => {
    const items = queues.get(queue)
    const index = items?.indexOf(item) ?? -1
    if (!items || index < 0) return false
    items.splice(index, 1)
    if (items.length === 0) queues.delete(queue)
    return true
  }

  return {
    add(queue, item) {
      const items = queues.get(queue)
      if (items) items.push(item)
      else queues.set(queue, [item])
    },
    take(may) {
      for (const [queue, items] of queues) {
        const item = items.find(may)
        if (item === undefined) continue
        remove(queue, item)
        const rest = queues.get(queue)
        if (rest) {
          queues.delete(queue)
          queues.set(queue, rest)
        }
        return item
      }
      return undefined
    },
    remove,
    list,
    drain() {
      const items = list()
      queues.clear()
      return items
    },
    size: () => list().length,
  }
}
