import { type Remedy, withRemedy } from '../app/remedy.ts'
import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  RateLimitedError,
  TransientError,
} from '../kit/errors.ts'

/** Whose trouble a problem is; it decides the exit code of the doctor. */
export type ProblemKind = 'configuration' | 'unreachable' | 'credentials' | 'unexpected'

/** One thing that a check found, as a phrase for a person, and the command that mends it or leads on. */
export type Finding = Readonly<{ found: string; run?: string }> &
  Readonly<
    // `left_out` could not be looked at; `found` is why
    { state: 'ok' | 'warning' | 'left_out' } | { state: 'problem'; kind: ProblemKind }
  >

/** Makes a finding that nothing is wrong. */
export function ok(found: string, run?: string): Finding {
  return { state: 'ok', found, ...(run !== undefined && { run }) }
}

/** Makes a finding of what works and should still be looked at. */
export function warning(found: string, run?: string): Finding {
  return { state: 'warning', found, ...(run !== undefined && { run }) }
}

/** Makes a finding of what does not work. */
export function problem(kind: ProblemKind, found: string, run?: string): Finding {
  return { state: 'problem', kind, found, ...(run !== undefined && { run }) }
}

/** Makes the finding of a check that could not be made, and why. */
export function leftOut(reason: string): Finding {
  return { state: 'left_out', found: reason }
}

/** Turns an error into the finding of a problem, by its kind; without a remedy its sentence says what to do. */
export function problemOf(error: unknown, { hint, run }: Remedy = {}): Finding {
  return problem(kindOf(error), withRemedy(errorLine(error), { hint }), run)
}

function kindOf(error: unknown): ProblemKind {
  if (error instanceof CredentialsRejectedError) return 'credentials'
  if (error instanceof ConfigError) return 'configuration'
  return error instanceof TransientError || error instanceof RateLimitedError ? 'unreachable' : 'unexpected'
}
