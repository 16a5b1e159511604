import { UnrecoverableError } from 'bullmq'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { BUG_ATTEMPTS, STACK_LIMIT } from '../limits.ts'
import type { Outcome } from '../outcome.ts'

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
