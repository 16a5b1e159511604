import { TransientError } from '../kit/errors.ts'
import { type Backoff, backoffMs, SECOND, type Sleep } from '../kit/time.ts'
import { parseRetryAfter, type RawAnswer, retryAfterMs, type ServiceRequest } from './http-message.ts'
import type { Pacer } from './pacer.ts'
import { quoteRefusal } from './quote-refusal.ts'
import { statusError } from './service-errors.ts'
import { send, type TransportDeps } from './transport.ts'

export type CallDeps = { transport: TransportDeps; pacer: Pacer; sleep: Sleep; random: () => number }

/** How often a GET is tried again after a TransientError; callers handle longer outages. */
const READ_RETRIES = 2
const READ_BACKOFF: Backoff = { firstMs: 1 * SECOND, maxMs: 10 * SECOND, factor: 4 }
/** How long a 503 pauses the other calls at most: its Retry-After is a hint and not a limit. */
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
  if (error) throw error
  return answer
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

/** Sends a GET, and again after a TransientError, twice at most, with growing pauses. */
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
