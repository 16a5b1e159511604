import type { Hold } from '../../kit/semaphore.ts'
import { HOUR, MINUTE, SECOND } from '../../kit/time.ts'

/** A body to send: a short text, or bytes that are streamed; `onSent` is called when the connection takes the last piece. */
export type RequestBody = {
  contentType: string
  content: string | readonly Uint8Array[]
  onSent?: () => void
}

/** The endpoints as in the service document, by which requests are counted; without the names of objects. */
export type Endpoint =
  | 'POST /oauth/token'
  | 'GET /oauth/authorize'
  | 'GET /oauth/training_info'
  | 'GET /oauth/workout-download/<workout_id>.<ext>'
  | 'GET /oauth/workout'
  | 'GET /oauth/workouts'
  | 'GET /oauth/workout/<path>'
  | 'GET /oauth/activity/<id>'
  | 'GET /oauth/activity'
  | 'POST /oauth/upload'

export type ServiceRequest = {
  method: 'GET' | 'POST'
  url: URL
  endpoint: Endpoint
  /** what is fetched or sent, for messages, such as `activity ab12` */
  what: string
  /** never sent to another origin than the URL's */
  authorization: string | undefined
  body?: RequestBody
  /** `manual`: a redirect is returned as the answer and not followed */
  redirects?: 'manual'
  totalMs?: number
  /** the answer may have the samples of a whole day */
  hasSamples?: boolean
  /** keeps the place of a large answer until the caller no longer needs it */
  hold?: Hold | undefined
}

/** An answer of any status, its body complete and decoded. */
export type RawAnswer = {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  body: Buffer
  /** the body as it came, when it came in gzip */
  gzipped?: Buffer | undefined
  requestedAt: Date
  /** the service's own clock, from the Date header */
  serviceTime: Date | undefined
  /** whether the connection had taken the whole request when the answer came */
  requestSent: boolean
}

/** How long each part of a request may take, in ms. */
export type Timeouts = {
  /** until a connection is established, TLS included */
  connectMs: number
  /** from the request's last byte to the answer's headers; also the longest pause while sending */
  headersMs: number
  /** the longest pause between two pieces of an answer's body */
  bodyIdleMs: number
  /** the whole request, redirects included */
  totalMs: number
  /** a whole token request, which is made under a lock that others wait for */
  tokenMs: number
}

/** An activity's samples are several MB and computed on demand, so an answer may be slow; `totalMs` limits one that trickles in. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 10 * SECOND,
  headersMs: 60 * SECOND,
  bodyIdleMs: 60 * SECOND,
  totalMs: 10 * MINUTE,
  // Two of them, a refresh and a password, take less than the 90 s after which another process stops waiting for the lock.
  tokenMs: 40 * SECOND,
}

/** A ride of 24 hours has 86,400 samples of about 460 bytes with every extra field, 40 MB; half as much again is the margin. */
export const DEFAULT_MAX_BODY_BYTES = 60_000_000

/** The pause after a 429 without a Retry-After. */
const DEFAULT_RETRY_AFTER_MS = 60_000
/** The shortest pause: a Retry-After of 0 would repeat the request in a loop. */
const MIN_RETRY_AFTER_MS = 1_000
/** The longest pause: a wrong number must not stop the daemon for a year. */
export const MAX_RETRY_AFTER_MS = 86_400_000

/** Returns the pause that a 429 states, in ms; 60 s when it states none. */
export function retryAfterMs(answer: RawAnswer, now: Date): number {
  return parseRetryAfter(answer, now) ?? DEFAULT_RETRY_AFTER_MS
}

/** The longest pause that a date asks for: it is more likely to come from a wrong clock than a number of seconds. */
const MAX_DATE_MS = HOUR
/** The beginning of all three formats of an HTTP date (RFC 9110 section 5.6.7); Date.parse also reads `-5` and `2, 3` as dates. */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? /i

/**
 * Reads a Retry-After header as ms from 1 s: seconds up to a day, or an HTTP date by the answer's own Date, up to an hour. Undefined when it
 * is missing or invalid.
 */
export function parseRetryAfter(answer: RawAnswer, now: Date): number | undefined {
  const text = answer.headers['retry-after']?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return withinMs(Number(text) * SECOND, MAX_RETRY_AFTER_MS)
  const at = HTTP_DATE.test(text) ? Date.parse(text.replace(/\d$/, '$& GMT')) : Number.NaN
  if (Number.isNaN(at)) return undefined
  return withinMs(at - (answer.serviceTime ?? now).getTime(), MAX_DATE_MS)
}

function withinMs(ms: number, maxMs: number): number {
  return Math.round(Math.min(maxMs, Math.max(MIN_RETRY_AFTER_MS, ms)))
}
