import { UnrecoverableError } from 'bullmq'
import {
  ConfigError,
  CredentialsRejectedError,
  errorCode,
  errorLine,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../kit/errors.ts'
import { BUG_ATTEMPTS, STACK_LIMIT, WAIT_MAX_MS, WAIT_MIN_MS } from './limits.ts'

/**
 * What becomes of a job that failed. `wait`: again when the service allows it, no attempt is spent. `retry`: again with growing
 * pauses. `park`: dead, and the account waits for a person. `refuse`: dead, asking again would not help.
 * `bug`: a few attempts, kept with its stack.
 */
type Outcome = Readonly<
  | { kind: 'wait'; waitMs: number }
  | { kind: 'retry' }
  | { kind: 'park' }
  | { kind: 'refuse' }
  | { kind: 'bug' }
>

/** Node's and Postgres's codes for what passes by itself, for errors that reach us without a kind of our own. */
const PASSING_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED', // nobody listens yet
  'ECONNRESET', // the other side went away
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN', // the resolver is not up yet
  '40001', // serialization failure
  '40P01', // deadlock
  '53300', // too many connections
  '57P01', // Postgres is stopping
  '57P02', // Postgres crashed
  '57P03', // Postgres is starting
  '08000', // connection exception
  '08003',
  '08006',
])

/** Turns an error into an outcome, by its kind and code, never by its text; waits are whole ms within our bounds. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof RateLimitedError) return { kind: 'wait', waitMs: waitOf(error.retryAfterMs) }
  if (error instanceof TransientError) return { kind: 'retry' }
  if (error instanceof CredentialsRejectedError) return { kind: 'park' }
  if (error instanceof RejectedError) return { kind: 'refuse' }
  if (error instanceof UnexpectedResponseError) return { kind: 'refuse' }
  if (error instanceof ConfigError) return { kind: 'refuse' }
  if (PASSING_CODES.has(errorCode(error))) return { kind: 'retry' }
  return { kind: 'bug' }
}

function waitOf(retryAfterMs: number): number {
  if (Number.isNaN(retryAfterMs)) return WAIT_MIN_MS
  return Math.ceil(Math.min(WAIT_MAX_MS, Math.max(WAIT_MIN_MS, retryAfterMs)))
}

/**
 * Makes the error that BullMQ stores with a job: one capped line, `code: message`, and a capped stack. NUL and halves
 * of surrogate pairs are taken out, because with them Postgres cannot store the failure and the job stays active.
 * `dead` means no further attempt.
 */
export function makeFailure(error: unknown, dead: boolean): Error {
  const line = wellFormed(`${errorCode(error)}: ${errorLine(error)}`)
  const failure = dead ? new UnrecoverableError(line) : new Error(line)
  const stack = error instanceof Error ? (error.stack ?? line) : line
  failure.stack = wellFormed(stack.replaceAll('\u0000', ' ').slice(0, STACK_LIMIT))
  return failure
}

/** Tells whether a failed job has no attempt left; `attemptsMade` counts the ones before this one. */
export function isDead(outcome: Outcome, attempts: { made: number; allowed: number }): boolean {
  if (outcome.kind === 'park' || outcome.kind === 'refuse') return true
  const allowed = outcome.kind === 'bug' ? Math.min(BUG_ATTEMPTS, attempts.allowed) : attempts.allowed
  return attempts.made + 1 >= allowed
}

function wellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8')
}
