import { errorCode } from '../../kit/errors.ts'

/** A chain of causes is short; the bound only guards against one that bites its own tail. */
const MAX_DEPTH = 5

/** The first stable code in an error's chain: undici wraps the socket's error, and Happy Eyeballs an AggregateError. */
export function findCode(error: unknown, depth = 0): string {
  const code = errorCode(error)
  if (code !== 'unexpected' || depth >= MAX_DEPTH || !(error instanceof Error)) return code
  if (error instanceof AggregateError && error.errors.length > 0) return findCode(error.errors[0], depth + 1)
  return error.cause === undefined ? code : findCode(error.cause, depth + 1)
}

/**
 * A cause that is safe to log: the code and the kind of a library's error, without its text or fields. undici's parser
 * errors carry bytes of the answer, and an answer may hold tokens.
 */
export function plainCause(error: unknown): Error {
  const code = findCode(error)
  return Object.assign(new Error(`${error instanceof Error ? error.name : 'Error'} ${code}`), { code })
}
