import type { Hold } from '../../kit/semaphore.ts'
import { HOUR, MINUTE, SECOND } from '../../kit/time.ts'

/** A body to send: a short string, or bytes that are streamed. `onSent` is called when the connection takes the last piece. */
export type RequestBody = {
  contentType: string
  content: string | readonly Uint8Array[]
  onSent?: () => void
}

/** The endpoints of the service document, by which requests are counted; without object names. */
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
  /** `manual`: a redirect is returned as the response and not followed */
  redirects?: 'manual'
  totalMs?: number
  /** the response may contain the samples of a whole day */
  hasSamples?: boolean
  /** no other caller gets a large response until this caller releases it */
  hold?: Hold | undefined
}

/** A response with any status; the body is complete and decoded. */
export type RawAnswer = {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  body: Buffer
  /** the body as received, if it was compressed with gzip */
  gzipped?: Buffer | undefined
  requestedAt: Date
  /** the service's own clock, from the Date header */
  serviceTime: Date | undefined
  /** whether the connection had taken the whole request when the response came */
  requestSent: boolean
}

/** Maximum duration of each part of a request, ms. */
export type Timeouts = {
  /** until a connection is established, including TLS */
  connectMs: number
  /** from the last byte of the request to the response headers; also the longest pause while sending */
  headersMs: number
  /** the longest pause between two pieces of a response body */
  bodyIdleMs: number
  /** the whole request, including redirects */
  totalMs: number
  /** a whole token request, which is made under a lock that other processes wait for */
  tokenMs: number
}

/** An activity's samples are several MB and computed on demand, so a response may be slow. `totalMs` limits a response that arrives in small pieces. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 10 * SECOND,
  headersMs: 60 * SECOND,
  bodyIdleMs: 60 * SECOND,
  totalMs: 10 * MINUTE,
  // Two token requests, a refresh and a password, take less than the 90 s that other processes wait for the lock.
  tokenMs: 40 * SECOND,
}

/** A ride of 24 hours has 86,400 samples of about 460 bytes with every extra field, 40 MB in total; the limit adds half of that as margin. */
export const DEFAULT_MAX_BODY_BYTES = 60_000_000

/** Pause after a 429 without a Retry-After, ms. */
const DEFAULT_RETRY_AFTER_MS = 60_000
/** Minimum pause, ms: a Retry-After of 0 would repeat the request in a loop. */
const MIN_RETRY_AFTER_MS = 1_000
/** Maximum pause, ms: a wrong number must not stop the daemon for a year. */
export const MAX_RETRY_AFTER_MS = 86_400_000

/** Returns the pause that a 429 states, ms; 60 s if it states none. */
export function retryAfterMs(answer: RawAnswer, now: Date): number {
  return parseRetryAfter(answer, now) ?? DEFAULT_RETRY_AFTER_MS
}

/** Maximum pause from a date, ms: a wrong clock affects a date more likely than a number of seconds. */
const MAX_DATE_MS = HOUR
/** The start of all three HTTP date formats (RFC 9110 section 5.6.7); Date.parse also reads `-5` and `2, 3` as dates. */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? /i

/**
 * Reads a Retry-After header: seconds up to a day, or an HTTP date relative to the response's own Date, up to an hour. Returns at least 1,000
 * ms; undefined if the header is missing or invalid.
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
