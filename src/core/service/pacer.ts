import type { Logger } from 'pino'
import { errorLine, RateLimitedError } from '../../kit/errors.ts'
import { type Clock, MINUTE, SECOND, type Sleep } from '../../kit/time.ts'

/** The queue of a call (queues take turns) and its origin (a pause holds for one origin). */
type PacedCall = { queue: string; origin: string }

export type Pacer = ReturnType<typeof makePacer>

/** Called with the ms by which a rate limit has delayed the calls to an origin beyond the pause that already ran. */
export type OnPause = (ms: number) => void

type Waiter = { call: PacedCall; start: () => void; refuse: (reason: unknown) => void }

type Limits = { concurrency: number; requestsPerMinute: number }

/**
 * Up to `count` requests that a process wants beside those `running`. With a `demand`, the number that it wants under way, its share of the
 * concurrency is computed anew; a negative one gives it back. `calm` allows no burst.
 */
type Reservation = Limits & { count: number; running: number; demand: number | null; calm: boolean }

/**
 * The ms to wait before each request that a process was given, and those of the pause of each origin; with a demand also the requests that
 * it may have under way and the number of processes (null when it wanted none for seconds), and their lowest pace.
 */
export type Reserved = { waitsMs: number[]; pausesMs: Record<string, number> } & {
  allowed: number | null
  callers: number | null
  requestsPerMinute: number
}

/** The pace of all processes that use one database. It throws when the database does not answer soon. */
export type SharedPace = {
  reserve(wanted: Reservation): Promise<Reserved>
  /** Pauses the calls of every process to an origin for `ms`; a longer pause stays. */
  pause(origin: string, ms: number): Promise<void>
}

/**
 * Makes the pacer that all calls to the service go through: at most `concurrency` at a time and `requestsPerMinute` in any 60 s, spread
 * evenly; with `shared`, over all processes, and after a small burst. The queue that has waited longest since its last call is next; a queue is
 * first in, first out. Calls to a paused origin wait; when the pause is longer than `longestPauseMs` they are rejected, so that they do not
 * delay others.
 */
export function makePacer(
  deps: {
    now: Clock
    sleep: Sleep
    log?: Logger
    onPause?: OnPause | undefined
    shared?: SharedPace | undefined
  },
  options: Limits & { longestPauseMs?: number | undefined },
) {
  /** in the order of the calls */
  const waiting: Waiter[] = []
  /** the count of calls when each queue was last served */
  const lastServed = new Map<string, number>()
  let served = 0
  const pauses = new Map<string, { until: number; ms: number }>()
  const longestPauseMs = options.longestPauseMs ?? Number.POSITIVE_INFINITY
  let running = 0
  let timer: AbortController | undefined
  let closed: Error | undefined
  /** the pauses that are being told to the other processes */
  let storing: Promise<unknown> = Promise.resolve()

  const pausedMs = (origin: string): number => {
    const pause = pauses.get(origin)
    if (!pause) return 0
    const left = pause.until - deps.now().getTime()
    // A clock that was set back must not make the pause longer.
    if (left > 0 && left <= pause.ms) return left
    pauses.delete(origin)
    return 0
  }

  const remove = (waiter: Waiter): void => {
    const at = waiting.indexOf(waiter)
    if (at >= 0) waiting.splice(at, 1)
  }

  const findReady = () => waiting.filter(({ call }) => pausedMs(call.origin) === 0)

  const startNext = (): void => {
    timer?.abort()
    timer = undefined
    while (waiting.length > 0) {
      const lastOf = ({ call }: Waiter) => lastServed.get(call.queue) ?? 0
      const [next] = findReady().toSorted((one, other) => lastOf(one) - lastOf(other))
      const ms = next ? pace.waitMs() : Math.min(...waiting.map(({ call }) => pausedMs(call.origin)))
      if (!next || ms > 0) {
        if (ms === Number.POSITIVE_INFINITY) return
        const own = new AbortController()
        timer = own
        const start = () => timer === own && startNext()
        return void deps.sleep(ms, own.signal).then(start, () => undefined)
      }
      remove(next)
      served += 1
      lastServed.set(next.call.queue, served)
      pace.spend()
      running += 1
      next.start()
    }
  }

  /** Pauses the calls of this process, and returns whether that is longer than before by more than `toleranceMs`. */
  const pauseHere = (origin: string, ms: number, toleranceMs = 0): boolean => {
    const longerMs = ms - pausedMs(origin)
    if (longerMs <= toleranceMs) return false
    pauses.set(origin, { until: deps.now().getTime() + ms, ms })
    deps.onPause?.(longerMs)
    if (ms > longestPauseMs) {
      for (const waiter of waiting.filter(({ call }) => call.origin === origin)) {
        remove(waiter)
        waiter.refuse(rateLimited(pausedMs(origin)))
      }
    }
    return true
  }

  const pace = joinPace(deps, options, {
    loadNow: () => {
      const ready = findReady()
      return { running, ready: ready.length, queues: new Set(ready.map(({ call }) => call.queue)).size }
    },
    onReserved: (pausesMs) => {
      for (const [origin, ms] of Object.entries(pausesMs))
        if (pauseHere(origin, ms, SECOND))
          deps.log?.warn({ waitMs: ms }, 'the service asked another process to wait')
      if (!closed) startNext()
    },
  })

  const waitForStart = (call: PacedCall, signal: AbortSignal | undefined): Promise<void> => {
    let abandon = (): void => undefined
    const started = new Promise<void>((start, refuse) => {
      const waiter = { call, start, refuse }
      abandon = () => {
        remove(waiter)
        refuse(signal?.reason)
        startNext()
      }
      waiting.push(waiter)
    })
    signal?.addEventListener('abort', abandon, { once: true })
    startNext()
    return started.finally(() => signal?.removeEventListener('abort', abandon))
  }

  return {
    /**
     * Runs `work` as soon as the pace allows it. Throws the signal's reason when it aborts while waiting, and RateLimitedError
     * `rate_limited` when the origin is paused for longer than `longestPauseMs`.
     */
    async run<T>(call: PacedCall, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      signal?.throwIfAborted()
      if (closed) throw closed
      const pauseMs = pausedMs(call.origin)
      if (pauseMs > longestPauseMs) throw rateLimited(pauseMs)
      await waitForStart(call, signal)
      try {
        return await work()
      } finally {
        running -= 1
        startNext()
      }
    },
    /** Pauses every call to an origin for `ms` from now; a longer pause stays. */
    pause(origin: string, ms: number): void {
      // What cannot be stored the other processes learn from the service.
      const say = (error: unknown) =>
        deps.log?.warn({ reason: errorLine(error) }, 'a pause was not told to other processes')
      if (pauseHere(origin, ms)) storing = Promise.all([storing, deps.shared?.pause(origin, ms).catch(say)])
      startNext()
    },
    pausedMs,
    /** Rejects all calls that wait, and all later ones, with `reason`, and gives back the share of this process once its pauses are stored. */
    async close(reason: Error): Promise<void> {
      closed = reason
      timer?.abort()
      timer = undefined
      for (const waiter of waiting.splice(0)) waiter.refuse(reason)
      await Promise.all([storing, pace.close()])
    },
  }
}

function rateLimited(pauseMs: number): RateLimitedError {
  const text = `the service asked to wait, and ${Math.ceil(pauseMs / SECOND)} s of that are left`
  return new RateLimitedError('rate_limited', text, pauseMs)
}

/** A request is sent so long after its time at most: in any 60 s stand those that were given out for 61 s, for which the pace has room. */
const MAX_LATE_MS = 1 * SECOND
/** A call starts so soon after the pauses of the other processes were read. */
const FRESH_MS = 100
/** The share of the concurrency is computed so often, and sooner when it is too small. */
const SHARE_MS = { normal: 1 * SECOND, short: 200 }
/** Within this time it does not matter which queue is first, and one query gives out several calls. */
const BATCH_MS = 100
/** How long, and for how many calls at most, a process goes on alone before it looks for the database again. */
const ALONE = { ms: 2 * SECOND, calls: 1_000 }

/**
 * Joins the processes that share a pace, at the first call. A process has one query under way at a time, which gives one call to each of
 * its queues that wait, so that the calls of all processes follow each other. A call that has waited is started by the answer for the next
 * ones, which has the pauses of the others. While the database is away, the process keeps its last part of the pace, which is all of it
 * without a shared pace.
 */
function joinPace(
  { now, sleep, shared }: { now: Clock; sleep: Sleep; shared?: SharedPace | undefined },
  limits: Limits,
  calls: {
    loadNow: () => { running: number; ready: number; queues: number }
    onReserved: (pausesMs: Record<string, number>) => void
  },
) {
  const stop = new AbortController()
  /** between which times each call that was given out may start, by our clock */
  let starts: { from: number; until: number }[] = []
  let [allowed, callers, lowest] = [0, 1, limits.requestsPerMinute]
  let [readAt, tookMs, aloneUntil] = [0, 0, 0]
  let [isShort, isShareDue, isAlone] = [false, true, false]
  let membership: object | undefined
  let reserving: Promise<void> | undefined

  const reserve = async (): Promise<void> => {
    const begun = now().getTime()
    const { ready, queues, ...load } = calls.loadNow()
    const running = load.running + starts.length
    const shares = isShareDue || running >= allowed
    // A process without calls leaves at the next share, because its part would be lost for the others.
    const demand = shares ? Math.min(limits.concurrency, load.running + ready) || -1 : null
    const later = starts.filter(({ from }) => from > begun).length
    const batch = Math.max(queues, Math.ceil((BATCH_MS * lowest) / MINUTE)) - later
    const free = (shares ? limits.concurrency : allowed) - running
    const count = Math.max(0, Math.min(ready - starts.length, batch, free))
    const wanted = shares ? limits : { ...limits, requestsPerMinute: lowest }
    const found = await shared
      ?.reserve({ ...wanted, count, running, demand, calm: isAlone })
      .catch(() => undefined)
    readAt = now().getTime()
    tookMs = readAt - begun
    if (isAlone && found) starts = []
    isAlone = !found
    if (!found) giveOutAlone()
    for (const ms of found?.waitsMs ?? [])
      starts.push({ from: readAt + Math.ceil(ms), until: begun + ms + MAX_LATE_MS })
    if (found && demand !== null) {
      if (found.allowed === null) membership = undefined
      ;[allowed, callers, lowest] = [found.allowed ?? 0, found.callers ?? callers, found.requestsPerMinute]
      ;[isShareDue, isShort] = [false, allowed < demand]
    }
    // The requests of the next minute are given out: nothing more until the share is computed again.
    if (count > 0 && found?.waitsMs.length === 0) [allowed, isShort] = [Math.min(allowed, running), true]
    reserving = undefined
    calls.onReserved(found?.pausesMs ?? {})
  }

  const giveOutAlone = (): void => {
    allowed = Math.max(1, Math.floor(limits.concurrency / callers))
    const everyMs = (callers * (MINUTE + MAX_LATE_MS)) / lowest
    // A clock that is set back must not delay the calls.
    let from = Math.max(readAt, Math.min(aloneUntil, readAt + ALONE.ms + everyMs))
    while (starts.length === 0 || (from < readAt + ALONE.ms && starts.length < ALONE.calls)) {
      starts.push({ from: Math.floor(from), until: from + MAX_LATE_MS })
      from += everyMs
    }
    aloneUntil = from
  }

  /** Starts a query whose answer starts the next call. */
  const begin = (): Promise<void> => {
    if (shared && !membership) {
      membership = {}
      keepShare(membership).catch(() => undefined)
    }
    reserving ??= reserve()
    return reserving
  }

  /** Renews the share until it is given back, a second after the last call. */
  const keepShare = async (own: object): Promise<void> => {
    while (membership === own) {
      await begin()
      await sleep(isShort ? SHARE_MS.short : SHARE_MS.normal, stop.signal)
      isShareDue = true
    }
  }

  return {
    /** Returns how long the next call must wait; forever when an answer, or the end of a call, lets it start. */
    waitMs(): number {
      const at = now().getTime()
      // The end of a call starts the next one.
      if (calls.loadNow().running >= (isAlone ? allowed : limits.concurrency)) return Number.POSITIVE_INFINITY
      // A clock that was set back leaves nothing that may start.
      starts = starts.filter(({ until }) => at <= until && at >= readAt)
      const [start] = starts
      if (start && (isAlone || !reserving)) {
        if (start.from > at) return start.from - at
        // A slow database is not queried twice for one call.
        if (isAlone || at - readAt <= FRESH_MS || tookMs > FRESH_MS) return 0
      }
      if (start || !isShort || calls.loadNow().running < allowed) void begin()
      return Number.POSITIVE_INFINITY
    },
    spend: () => void starts.shift(),
    async close(): Promise<void> {
      stop.abort()
      await reserving
      const none = { count: 0, running: 0, demand: -1, calm: false }
      if (membership) await shared?.reserve({ ...limits, ...none }).catch(() => undefined)
    },
  }
}
