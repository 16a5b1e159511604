import type { Logger } from 'pino'
import { errorLine, RateLimitedError } from '../../kit/errors.ts'
import { type Clock, MINUTE, SECOND, type Sleep } from '../../kit/time.ts'

/** A call's queue (queues take turns) and origin (a pause applies to one origin). */
type PacedCall = { queue: string; origin: string }

export type Pacer = ReturnType<typeof makePacer>

/** Called with the additional pause, ms, by which a rate limit delays the calls to an origin. */
export type OnPause = (ms: number) => void

/** Grants one call (`waitMs` is 0), or returns in `waitMs` when to ask again, ms. `pausesMs` has each origin's remaining pause, ms. */
export type Grant = { waitMs: number; pausesMs: Record<string, number> }

/** The pace of all processes that use one database. Both functions throw the store's errors. */
export type SharedPace = {
  take(requestsPerMinute: number): Promise<Grant>
  /** Pauses every process's calls to an origin for `ms`, unless a longer pause is running. */
  pause(origin: string, ms: number): Promise<void>
}

type Waiter = { call: PacedCall; start: () => void; refuse: (reason: unknown) => void }

/** A granted call may start up to 1 s late, so the pace budgets 61 s for the calls of any 60 s. */
const MAX_LATE_MS = 1 * SECOND
/** Another process's pause is logged if it exceeds the known pause by more than this, ms. */
const PAUSE_TOLERANCE_MS = 1 * SECOND

/**
 * Makes the pacer for all calls to the service: at most `concurrency` of this process at a time, and at most `requestsPerMinute` in any 60 s;
 * with `shared`, of all processes together. The queue that has waited longest since its last call is next. Each queue is first in, first out.
 * Calls to a paused origin wait; if the pause exceeds `longestPauseMs` they are rejected, so that they do not delay others. If the shared pace
 * cannot be reached, every waiting call is rejected with its error.
 */
export function makePacer(
  deps: {
    now: Clock
    sleep: Sleep
    log?: Logger
    onPause?: OnPause | undefined
    shared?: SharedPace | undefined
  },
  options: { concurrency: number; requestsPerMinute: number; longestPauseMs?: number | undefined },
) {
  const { log, shared } = deps
  const longestPauseMs = options.longestPauseMs ?? Number.POSITIVE_INFINITY
  const pauses = makeCountdowns(deps.now)
  const pace = makeCountdowns(deps.now)
  const take = shared ? () => shared.take(options.requestsPerMinute) : makeOwnPace(deps.now, options)
  /** in the order of the calls */
  const waiting: Waiter[] = []
  /** the number of served calls when each queue was last served */
  const lastServed = new Map<string, number>()
  let served = 0
  let running = 0
  let closed: Error | undefined
  /** ends the wait for a pause or for the pace */
  let nap = new AbortController()
  let isStarting = false
  /** the pauses that are being shared with the other processes */
  let storing: Promise<unknown> = Promise.resolve()

  const remove = (waiter: Waiter): void => {
    const at = waiting.indexOf(waiter)
    if (at >= 0) waiting.splice(at, 1)
  }

  const findNext = (): Waiter | undefined => {
    const lastOf = ({ call }: Waiter) => lastServed.get(call.queue) ?? 0
    const ready = waiting.filter(({ call }) => pauses.leftMs(call.origin) === 0)
    return ready.toSorted((one, other) => lastOf(one) - lastOf(other))[0]
  }

  const shortestPauseMs = () => Math.min(...waiting.map(({ call }) => pauses.leftMs(call.origin)))

  const start = (next: Waiter): void => {
    remove(next)
    served += 1
    lastServed.set(next.call.queue, served)
    running += 1
    next.start()
  }

  /** Starts calls until none is waiting or `concurrency` are running. Runs once at a time. */
  const startCalls = async (): Promise<void> => {
    if (isStarting) return
    isStarting = true
    try {
      while (waiting.length > 0 && running < options.concurrency) {
        const ms = Math.max(pace.leftMs('all'), findNext() ? 0 : shortestPauseMs())
        if (ms > 0) await deps.sleep(ms, nap.signal).catch(() => undefined)
        else await startOne()
      }
    } catch (error) {
      for (const waiter of waiting.splice(0)) waiter.refuse(error)
    } finally {
      isStarting = false
    }
  }

  const startOne = async (): Promise<void> => {
    const askedAt = deps.now().getTime()
    const { waitMs, pausesMs } = await take()
    for (const [origin, ms] of Object.entries(pausesMs))
      if (pauseHere(origin, ms, PAUSE_TOLERANCE_MS))
        log?.warn({ waitMs: ms }, 'the service asked another process to wait')
    if (waitMs > 0) return pace.begin('all', Math.ceil(waitMs))
    // The grant expires if its answer took too long, or if the call was aborted meanwhile.
    const next = deps.now().getTime() - askedAt <= MAX_LATE_MS ? findNext() : undefined
    if (next) start(next)
  }

  /** Ends the current wait and checks the waiting calls again. */
  const look = (): void => {
    nap.abort()
    nap = new AbortController()
    void startCalls()
  }

  /** Pauses the calls of this process; returns whether the pause grew by more than `toleranceMs`. */
  const pauseHere = (origin: string, ms: number, toleranceMs = 0): boolean => {
    const longerMs = ms - pauses.leftMs(origin)
    if (longerMs <= toleranceMs) return false
    pauses.begin(origin, ms)
    deps.onPause?.(longerMs)
    if (ms > longestPauseMs) {
      for (const waiter of waiting.filter(({ call }) => call.origin === origin)) {
        remove(waiter)
        waiter.refuse(rateLimited(ms))
      }
    }
    return true
  }

  const waitForStart = (call: PacedCall, signal: AbortSignal | undefined): Promise<void> => {
    let abandon = (): void => undefined
    const started = new Promise<void>((start, refuse) => {
      const waiter = { call, start, refuse }
      abandon = () => {
        remove(waiter)
        refuse(signal?.reason)
        look()
      }
      waiting.push(waiter)
    })
    signal?.addEventListener('abort', abandon, { once: true })
    look()
    return started.finally(() => signal?.removeEventListener('abort', abandon))
  }

  return {
    /**
     * Runs `work` as soon as the pace allows it. Throws the signal's reason if it aborts while waiting, RateLimitedError `rate_limited` if the
     * origin is paused for longer than `longestPauseMs`, and the shared pace's errors.
     */
    async run<T>(call: PacedCall, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      signal?.throwIfAborted()
      if (closed) throw closed
      const pauseMs = pauses.leftMs(call.origin)
      if (pauseMs > longestPauseMs) throw rateLimited(pauseMs)
      await waitForStart(call, signal)
      try {
        return await work()
      } finally {
        running -= 1
        look()
      }
    },
    /** Pauses every call to an origin for `ms` from now, unless a longer pause is running. */
    pause(origin: string, ms: number): void {
      // If the pause cannot be stored, the other processes learn it from the service.
      const say = (error: unknown) =>
        log?.warn({ reason: errorLine(error) }, 'could not share a pause with other processes')
      if (pauseHere(origin, ms)) storing = Promise.all([storing, shared?.pause(origin, ms).catch(say)])
      look()
    },
    pausedMs: (origin: string) => pauses.leftMs(origin),
    /** Rejects all waiting and later calls with `reason`, and waits until the pauses are stored. */
    async close(reason: Error): Promise<void> {
      closed = reason
      for (const waiter of waiting.splice(0)) waiter.refuse(reason)
      nap.abort()
      await storing
    },
  }
}

/** Keeps waits by key that end after a time. Setting the clock back makes no wait longer. */
function makeCountdowns(now: Clock) {
  const waits = new Map<string, { until: number; ms: number }>()
  return {
    begin: (key: string, ms: number) => void waits.set(key, { until: now().getTime() + ms, ms }),
    leftMs(key: string): number {
      const wait = waits.get(key)
      const left = wait ? wait.until - now().getTime() : 0
      if (wait && left > 0 && left <= wait.ms) return left
      waits.delete(key)
      return 0
    },
  }
}

/** Makes the pace of a process that shares none: evenly spread, without bursts. */
function makeOwnPace(now: Clock, { requestsPerMinute }: { requestsPerMinute: number }) {
  const everyMs = (MINUTE + MAX_LATE_MS) / requestsPerMinute
  let nextAt = 0
  return async (): Promise<Grant> => {
    const at = now().getTime()
    // If the clock is set back, a call waits at most one interval. A call may start in the millisecond before its time.
    nextAt = Math.min(nextAt, at + everyMs + 1)
    const waitMs = Math.max(0, Math.floor(nextAt - at))
    if (waitMs === 0) nextAt = (at - nextAt <= MAX_LATE_MS ? nextAt : at) + everyMs
    return { waitMs, pausesMs: {} }
  }
}

function rateLimited(pauseMs: number): RateLimitedError {
  const text = `the service asked to wait; ${Math.ceil(pauseMs / SECOND)} s are left`
  return new RateLimitedError('rate_limited', text, pauseMs)
}
