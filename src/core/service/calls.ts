import { RateLimitedError, RejectedError, TransientError } from '../../kit/errors.ts'
import { type Backoff, backoffMs, type Clock, MINUTE, SECOND, type Sleep } from '../../kit/time.ts'
import type { Credentials, LoginAccount } from './credentials.ts'
import { parseRetryAfter, type RawAnswer, retryAfterMs, type ServiceRequest } from './http-message.ts'
import { quoteRefusal, statusError } from './service-errors.ts'
import { send, type TransportDeps } from './transport.ts'

export type CallDeps = { transport: TransportDeps; pacer: Pacer; sleep: Sleep; random: () => number }

/** How often a GET is tried again after a TransientError; callers handle longer outages. */
const READ_RETRIES = 2
const READ_BACKOFF: Backoff = { firstMs: 1 * SECOND, maxMs: 10 * SECOND, factor: 4 }
/** The longest pause of the other calls after a 503: its Retry-After is a hint and not a limit. */
const MAX_OUTAGE_PAUSE_MS = 60 * SECOND

/**
 * Sends one request when the pacer allows it, and returns an answer with a status of 200 to 299. Throws the error that
 * service-errors.ts makes of any other status.
 */
export async function callOnce(
  deps: CallDeps,
  input: { request: ServiceRequest; queue: string },
  signal?: AbortSignal,
): Promise<RawAnswer> {
  const { request, queue } = input
  const answer = await deps.pacer.run(
    { queue, origin: request.url.origin },
    () => send(deps.transport, request, signal),
    signal,
  )
  applyRetryAfter(deps, answer, request.url.origin)
  const words = request.endpoint === 'POST /oauth/upload' ? quoteRefusal(answer, request.authorization) : ''
  const error = statusError(answer, request.what, deps.transport.now(), words)
  if (!error) return answer
  request.hold?.release()
  throw error
}

/** Pauses every call to the origin after a 429, or a 503 with a Retry-After. */
export function applyRetryAfter(
  deps: Pick<CallDeps, 'transport' | 'pacer'>,
  answer: RawAnswer,
  origin: string,
): void {
  const now = deps.transport.now()
  if (answer.status === 429) deps.pacer.pause(origin, retryAfterMs(answer, now))
  if (answer.status === 503) {
    const ms = parseRetryAfter(answer, now) ?? 0
    deps.pacer.pause(origin, Math.min(ms, MAX_OUTAGE_PAUSE_MS))
  }
}

/** Sends a GET, and again after a TransientError. */
export async function callRead(
  deps: CallDeps,
  input: { request: ServiceRequest; queue: string },
  signal?: AbortSignal,
): Promise<RawAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await callOnce(deps, input, signal)
    } catch (error) {
      if (!(error instanceof TransientError) || attempt > READ_RETRIES) throw error
      await deps.sleep(backoffMs(READ_BACKOFF, attempt, deps.random), signal)
    }
  }
}

/** Makes the URL of an endpoint; the base URL may have a path. */
export function endpointUrl(baseUrl: string, path: string, query: Record<string, string> = {}): URL {
  const base = new URL(baseUrl)
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`)
  url.search = new URLSearchParams(query).toString()
  return url
}

/**
 * Makes the URL of one object below an endpoint (service document, endpoints 7 and 8); the object's path is escaped to one
 * segment. Throws RejectedError `bad_path` for an empty path and for dots.
 */
export function objectUrl(baseUrl: string, folder: string, path: string, query: Record<string, string> = {}) {
  // URL resolves dots, so the request would go to another endpoint.
  if (path === '' || path === '.' || path === '../..') {
    throw new RejectedError('bad_path', `"${path}" is not the path of an activity or a workout`)
  }
  // The Buffer replaces unpaired surrogates, at which encodeURIComponent throws.
  return endpointUrl(baseUrl, `${folder}/${encodeURIComponent(Buffer.from(path).toString())}`, query)
}

/**
 * Makes the URL of a workout file (service document, endpoint 4) from the service's address, absolute or relative. `what` is the
 * request, for messages. Throws RejectedError `foreign_origin` for another origin than the base URL's, and `bad_url` for a
 * text that is not a URL.
 */
export function fileUrl(baseUrl: string, address: string, what: string): URL {
  const base = endpointUrl(baseUrl, '/')
  if (!URL.canParse(address, base.href))
    throw new RejectedError('bad_url', `${what}: the address cannot be read`)
  const url = new URL(address, base)
  if (url.origin === base.origin) return url
  throw new RejectedError('foreign_origin', `${what}: the address does not belong to the service`)
}

/**
 * Throws TransientError `account_moved` when the tokens were made by another service than the one at the account's address: the
 * account was signed in elsewhere after its row was read. It is transient because the next read of the row has the new address.
 */
export function assertOrigin(account: LoginAccount, credentials: Credentials): void {
  if (credentials.origin === new URL(account.baseUrl).origin) return
  const message = `account "${account.name}" is signed in at another address since this began; the next attempt goes there`
  throw new TransientError('account_moved', message)
}

/** The queue of a call (queues take turns) and its origin (a pause holds for one origin). */
type PacedCall = { queue: string; origin: string }

export type Pacer = ReturnType<typeof makePacer>

/** Called with the ms by which a rate limit has delayed the calls to an origin beyond the pause that already ran. */
export type OnPause = (ms: number) => void

type Waiter = { call: PacedCall; start: () => void; refuse: (reason: unknown) => void }

/** The burst: a tenth of the requests per minute, but never more than one page of a browser requests. */
const MAX_BURST = 10

/**
 * Makes the pacer that all calls to the service go through: at most `concurrency` at a time and `requestsPerMinute` in any 60 s, spread
 * evenly after a small burst. The queue that has waited longest since its last call is next; a queue is first in, first out. Calls to a
 * paused origin wait; when the pause is longer than `longestPauseMs` they are rejected, so that they do not delay others.
 */
export function makePacer(
  deps: { now: Clock; sleep: Sleep; onPause?: OnPause | undefined },
  options: { concurrency: number; requestsPerMinute: number; longestPauseMs?: number | undefined },
) {
  // A leaky bucket (GCRA). The even pace is lower than the allowed one by the burst, so that both together stay within it in any 60 s.
  const burst = Math.min(MAX_BURST, Math.max(1, Math.floor(options.requestsPerMinute / 10)))
  const intervalMs = MINUTE / (options.requestsPerMinute - burst + 1)
  const allowanceMs = (burst - 1) * intervalMs
  /** the time up to which requests are spent */
  let ahead = 0
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

  const findNext = (): Waiter | undefined => {
    const lastOf = ({ call }: Waiter) => lastServed.get(call.queue) ?? 0
    const ready = waiting.filter(({ call }) => pausedMs(call.origin) === 0)
    return ready.toSorted((one, other) => lastOf(one) - lastOf(other))[0]
  }

  const startNextIn = (ms: number): void => {
    const own = new AbortController()
    timer = own
    deps.sleep(ms, own.signal).then(
      () => {
        if (timer === own) startNext()
      },
      () => undefined,
    )
  }

  const startNext = (): void => {
    timer?.abort()
    timer = undefined
    while (running < options.concurrency && waiting.length > 0) {
      const now = deps.now().getTime()
      // A clock that is set back must not delay the calls.
      ahead = Math.min(ahead, now + allowanceMs + intervalMs)
      const rateMs = Math.ceil(ahead - allowanceMs - now)
      if (rateMs > 0) {
        startNextIn(rateMs)
        return
      }
      const next = findNext()
      if (!next) {
        startNextIn(Math.min(...waiting.map(({ call }) => pausedMs(call.origin))))
        return
      }
      remove(next)
      served += 1
      lastServed.set(next.call.queue, served)
      ahead = Math.max(now, ahead) + intervalMs
      running += 1
      next.start()
    }
  }

  const waitForStart = (call: PacedCall, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      if (closed) return reject(closed)
      const pauseMs = pausedMs(call.origin)
      if (pauseMs > longestPauseMs) return reject(rateLimited(pauseMs))
      const settle = (end: () => void) => {
        signal?.removeEventListener('abort', abandon)
        end()
      }
      const waiter: Waiter = {
        call,
        start: () => settle(resolve),
        refuse: (reason) => settle(() => reject(reason)),
      }
      const abandon = (): void => {
        remove(waiter)
        waiter.refuse(signal?.reason)
        startNext()
      }
      signal?.addEventListener('abort', abandon, { once: true })
      waiting.push(waiter)
      startNext()
    })

  return {
    /**
     * Runs `work` as soon as the pace allows it. Throws the signal's reason when it aborts while waiting, and RateLimitedError
     * `rate_limited` when the origin is paused for longer than `longestPauseMs`.
     */
    async run<T>(call: PacedCall, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      signal?.throwIfAborted()
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
      const longerMs = ms - pausedMs(origin)
      if (longerMs > 0) {
        pauses.set(origin, { until: deps.now().getTime() + ms, ms })
        deps.onPause?.(longerMs)
      }
      if (ms > longestPauseMs) {
        for (const waiter of waiting.filter(({ call }) => call.origin === origin)) {
          remove(waiter)
          waiter.refuse(rateLimited(pausedMs(origin)))
        }
      }
      startNext()
    },
    pausedMs,
    /** Rejects all calls that wait, and all later ones, with `reason`. */
    close(reason: Error): void {
      closed = reason
      timer?.abort()
      timer = undefined
      for (const waiter of waiting.splice(0)) waiter.refuse(reason)
    },
  }
}

function rateLimited(pauseMs: number): RateLimitedError {
  const text = `the service asked to wait, and ${Math.ceil(pauseMs / SECOND)} s of that are left`
  return new RateLimitedError('rate_limited', text, pauseMs)
}
