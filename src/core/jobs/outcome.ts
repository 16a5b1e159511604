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

/** Tries of a job that fails for an unknown reason: it is a bug of musette, and more tries only fill the log. */
const BUG_ATTEMPTS = 3
/** The bounds of a wait that the service requires, ms: no busy loop after `Retry-After: 0`, and no wait of a year after a mistake. */
const [MIN_WAIT_MS, MAX_WAIT_MS] = [1 * SECOND, 6 * HOUR]
/** Characters of a stack kept with a dead job. */
const MAX_STACK = 4_000

/**
 * The outcome of a failed job. `wait`: it runs again when the service allows it or a primary may be there, and no attempt is spent. `retry`: it runs
 * again after growing pauses. `park`: dead, and the account waits for a login. `refuse`: dead, since another try would fail
 * alike. `bug`: a few attempts, kept with its stack.
 */
type Outcome = Readonly<{ kind: 'wait'; waitMs: number } | { kind: 'retry' | 'park' | 'refuse' | 'bug' }>

/** SQLSTATEs of failures that pass, besides those of a server that is not up: serialization, deadlock, connections. */
const PASSING = ['40001', '40P01', '53300', '08000', '08003', '08006']

/** Turns an error into an outcome, by its kind and code, never by its text; waits are whole ms within the bounds above. */
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
 * Makes the error that BullMQ stores with a job: one capped line, `code: message`, and a capped stack. NUL and unpaired surrogates are
 * removed: Postgres could not store the failure with them, and the job would stay active. `dead` means no further attempt.
 */
export function makeFailure(error: unknown, dead: boolean): Error {
  const line = wellFormed(`${errorCode(error)}: ${errorLine(error)}`)
  const failure = dead ? new UnrecoverableError(line) : new Error(line)
  const stack = error instanceof Error ? (error.stack ?? line) : line
  failure.stack = wellFormed(stack.replaceAll('\u0000', ' ').slice(0, MAX_STACK))
  return failure
}

/** Tells whether a failed job has no attempt left; `made` is the number of attempts before this one. */
export function isDead(outcome: Outcome, attempts: { made: number; allowed: number }): boolean {
  if (outcome.kind === 'park' || outcome.kind === 'refuse') return true
  const allowed = outcome.kind === 'bug' ? Math.min(BUG_ATTEMPTS, attempts.allowed) : attempts.allowed
  return attempts.made + 1 >= allowed
}

function wellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8')
}
