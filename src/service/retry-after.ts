import type { RawAnswer } from './transport/message.ts'

/** How long to stay away after a 429 that does not say. */
const DEFAULT_RETRY_AFTER_MS = 60_000
/** The shortest: a 429 that says 0 would be asked again in a circle. */
const MIN_RETRY_AFTER_MS = 1_000
/** The longest stay we believe in: a mistaken year must not silence the daemon for one. */
const MAX_RETRY_AFTER_MS = 86_400_000

/** How long a 429 asks to stay away, in ms; 60 s when it does not say. */
export function retryAfterMs(answer: RawAnswer, now: Date): number {
  return parseRetryAfter(answer, now) ?? DEFAULT_RETRY_AFTER_MS
}

/**
 * Reads a Retry-After header, seconds or an HTTP date, in ms, 1 s to a day; undefined when there is none that makes
 * sense. A date is taken by the service's own clock where its answer tells it.
 */
export function parseRetryAfter(answer: RawAnswer, now: Date): number | undefined {
  const text = answer.headers['retry-after']?.trim()
  if (!text) return undefined
  const clock = answer.serviceTime ?? now
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.getTime()
  if (Number.isNaN(ms)) return undefined
  return Math.round(Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, ms)))
}
