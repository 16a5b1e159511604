import { TransientError } from '../kit/errors.ts'
import { type Backoff, backoffMs, SECOND, type Sleep } from '../kit/time.ts'

import { statusError } from './errors.ts'
import { parseRetryAfter, type RawAnswer, retryAfterMs, type ServiceRequest } from './message.ts'
import type { Pacer } from './pacer.ts'

import { send, type TransportDeps } from './transport.ts'
import { quoteRefusal } from './words.ts'

export type CallDeps = { transport: TransportDeps; pacer: Pacer; sleep: Sleep; random: () => number }

/** A GET is tried again this often after a TransientError; longer outages are the callers' to wait for. */
const READ_RETRIES = 2
const READ_BACKOFF: Backoff = { firstMs: 1 * SECOND, maxMs: 10 * SECOND, factor: 4 }
/** How long a 503 may hold back the other calls: it is an outage with a hint, not a limit that was stated. */
const MAX_OUTAGE_PAUSE_MS = 60 * SECOND

/**
 * Sends one request in its turn and judges its status. Throws what errors.ts makes of it; an answer that comes back has a
 * status of 200 to 299.
 */
export async function callOnce(
  deps: CallDeps,
  input: { request: ServiceRequest; queue: string },
  signal?: AbortSignal,
): Promise<RawAnswer> {
  const { request, queue } = input
  const turn = { queue, origin: request.url.origin }
  const answer = await deps.pacer.run(turn, () => send(deps.transport, request, signal), signal)
  hearRetryAfter(deps, answer, request.url.origin)
  const words = request.endpoint === 'POST /oauth/upload' ? quoteRefusal(answer, request.authorization) : ''
  const error = statusError(answer, request.what, deps.transport.now(), words)
  if (error) throw error
  return answer
}

/** Lets a 429, or a 503 with a Retry-After, hold back every call to the origin. */
export function hearRetryAfter(
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
