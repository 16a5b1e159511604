import { UnrecoverableError } from 'bullmq'
import {
  ConfigError,
  CredentialsRejectedError,
  errorCode,
  errorLine,
  isNotUpYet,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../kit/errors.ts'
import { MAX_PAUSE_MS, NO_PRIMARY } from '../../kit/postgres/read-only-server.ts'
import { HOUR, SECOND } from '../../kit/time.ts'

/** Number of attempts of a job that fails for an unknown reason. Such a failure is a bug in musette, and more attempts only fill the log. */
const BUG_ATTEMPTS = 3
/** Minimum and maximum wait that the service may require, ms. They prevent a busy loop after `Retry-After: 0`, and a wait of a year by mistake. */
const [MIN_WAIT_MS, MAX_WAIT_MS] = [1 * SECOND, 6 * HOUR]
/** Maximum length of the stack that is kept with a dead job, characters. */
const MAX_STACK = 4_000

/**
 * The outcome of a failed job. `wait`: it runs again when the service allows it or a primary may exist, without spending an attempt.
 * `retry`: it runs again after growing pauses. `park`: it is dead, and the account waits for a login. `refuse`: it is dead, because another
 * attempt would fail alike. `bug`: it gets a few attempts, and its stack is kept.
 */
type Outcome = Readonly<{ kind: 'wait'; waitMs: number } | { kind: 'retry' | 'park' | 'refuse' | 'bug' }>

/** SQLSTATEs of transient failures, in addition to those in isNotUpYet: serialization, deadlock, connections. */
const PASSING = ['40001', '40P01', '53300', '08000', '08003', '08006']

/** Returns the outcome of an error by its kind and code, never by its text. Waits are integers in ms within the bounds above. */
export function outcomeOf(error: unknown): Outcome {
  if (error instanceof RateLimitedError) {
    const waitMs = Math.ceil(Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, error.retryAfterMs || 0)))
    return { kind: 'wait', waitMs }
  }
  if (NO_PRIMARY.includes(errorCode(error))) return { kind: 'wait', waitMs: MAX_PAUSE_MS }
  if (error instanceof TransientError) return { kind: 'retry' }
  if (error instanceof CredentialsRejectedError) return { kind: 'park' }
  const isFinal = [RejectedError, UnexpectedResponseError, ConfigError].some((kind) => error instanceof kind)
  if (isFinal) return { kind: 'refuse' }
  if (isNotUpYet(error) || PASSING.includes(errorCode(error))) return { kind: 'retry' }
  return { kind: 'bug' }
}

/**
 * Makes the error that BullMQ stores with a job: one line, `code: message`, and the stack, both cut to a maximum length. Removes NUL and
 * unpaired surrogates: Postgres could not store them, and the job would stay active. `dead`: no further attempt.
 */
export function makeFailure(error: unknown, dead: boolean): Error {
  const line = wellFormed(`${errorCode(error)}: ${errorLine(error)}`)
  const failure = dead ? new UnrecoverableError(line) : new Error(line)
  const stack = error instanceof Error ? (error.stack ?? line) : line
  failure.stack = wellFormed(stack.replaceAll('\u0000', ' ').slice(0, MAX_STACK))
  return failure
}

/** Reports whether a failed job is out of attempts. `made`: attempts before this one. */
export function isDead(outcome: Outcome, attempts: { made: number; allowed: number }): boolean {
  if (outcome.kind === 'park' || outcome.kind === 'refuse') return true
  const allowed = outcome.kind === 'bug' ? Math.min(BUG_ATTEMPTS, attempts.allowed) : attempts.allowed
  return attempts.made + 1 >= allowed
}

function wellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8')
}
