import { MINUTE, SECOND } from '../../kit/durations.ts'

/** How long each part of a request may take, in ms. */
export type Timeouts = {
  /** until a connection stands, TLS included */
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

/** An activity's samples are several MB and computed on demand, so an answer may be slow; the total bounds a trickle. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 10 * SECOND,
  headersMs: 60 * SECOND,
  bodyIdleMs: 60 * SECOND,
  totalMs: 10 * MINUTE,
  // Two of them, a refresh and a password, stay below the 90 s after which a waiting sibling gives up.
  tokenMs: 40 * SECOND,
}

/** A day of samples is about 50 MB; four times that is no activity. */
export const DEFAULT_MAX_BODY_BYTES = 200_000_000
