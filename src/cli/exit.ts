import {
  ConfigError,
  CredentialsRejectedError,
  errorCode,
  isAbort,
  MusetteError,
  RateLimitedError,
  TransientError,
} from '../kit/errors.ts'

/** The exit codes that scripts rely on. */
export const EXIT = { done: 0, unexpected: 1, usage: 2, noLogin: 3, unreachable: 4, partial: 5 } as const

/** Turns the error that ended a verb into its exit code and the sentence for the person; no sentence for a wanted stop. */
export function exitFor(
  error: unknown,
  signal?: AbortSignal,
): { code: number; sentence: string | undefined } {
  if (isAbort(error, signal)) return { code: EXIT.done, sentence: undefined }
  if (error instanceof MusetteError) return { code: codeFor(error), sentence: `musette: ${error.message}` }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: EXIT.unexpected, sentence: `musette: unexpected error: ${detail}` }
}

function codeFor(error: MusetteError): number {
  if (error instanceof CredentialsRejectedError || errorCode(error) === 'no_account') return EXIT.noLogin
  if (error instanceof ConfigError) return EXIT.usage
  if (error instanceof TransientError || error instanceof RateLimitedError) return EXIT.unreachable
  return EXIT.unexpected
}
