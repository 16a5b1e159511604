import {
  ConfigError,
  CredentialsRejectedError,
  errorCode,
  isAbort,
  MusetteError,
  RateLimitedError,
  TransientError,
} from '../kit/errors.ts'
import { EMBEDDED_HINTS, HINTS } from './hints.ts'

/** The exit codes that scripts rely on. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  noLogin: 3,
  unreachable: 4,
  partial: 5,
  /** stopped by a signal before it was done, as shells count SIGINT: 128 + 2 */
  interrupted: 130,
} as const

/** Codes of errors after which a person must sign in, or give other credentials. */
const LOGIN_CODES: ReadonlySet<string> = new Set(['no_account', 'invalid_client', 'unauthorized_client'])

/** Turns the error that ended a verb into its exit code and the sentence for the person; `embedded`: without DATABASE_URL. */
export function exitFor(
  error: unknown,
  options: { signal?: AbortSignal; embedded?: boolean } = {},
): { code: number; sentence: string } {
  if (isAbort(error, options.signal))
    return {
      code: EXIT.interrupted,
      sentence: 'musette: stopped before it was done; run it again to go on from here',
    }
  if (error instanceof MusetteError) {
    const hint = (options.embedded && EMBEDDED_HINTS[error.code]) || HINTS[error.code]
    return { code: codeFor(error), sentence: `musette: ${error.message}${hint ? `; ${hint}` : ''}` }
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: EXIT.unexpected, sentence: `musette: unexpected error: ${detail}` }
}

function codeFor(error: MusetteError): number {
  if (error instanceof CredentialsRejectedError || LOGIN_CODES.has(errorCode(error))) return EXIT.noLogin
  if (error instanceof ConfigError) return EXIT.usage
  if (error instanceof TransientError || error instanceof RateLimitedError) return EXIT.unreachable
  return EXIT.unexpected
}
