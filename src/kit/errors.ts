import { shorten } from './text.ts'

/**
 * The kinds of error that code may decide by. `code` is stable and greppable; `message` is for people and
 * ends with what to type next where a person can mend it; no decision is ever made by message text.
 */
export class MusetteError extends Error {
  override readonly name: string = 'MusetteError'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Usage or configuration is wrong; only a person can mend it. */
export class ConfigError extends MusetteError {
  override readonly name = 'ConfigError'
}

/** The other side is busy and said so (429). `retryAfterMs` is how long it asked us to stay away, in ms. */
export class RateLimitedError extends MusetteError {
  override readonly name = 'RateLimitedError'
  readonly retryAfterMs: number

  constructor(code: string, message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(code, message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Nobody's fault and likely to pass: timeout, reset, 5xx, database restarting. `requestSent` is true when the
 * whole request had left before it failed, so the other side may have acted on it.
 */
export class TransientError extends MusetteError {
  override readonly name = 'TransientError'
  readonly requestSent: boolean

  constructor(code: string, message: string, options?: ErrorOptions & { requestSent?: boolean }) {
    super(code, message, options)
    this.requestSent = options?.requestSent ?? false
  }
}

/** The service definitely refused the login: `invalid_grant`, or a 401 with a token that was just made. */
export class CredentialsRejectedError extends MusetteError {
  override readonly name = 'CredentialsRejectedError'
}

/** The request was understood and refused (4xx, `success: false`); asking again would not help. */
export class RejectedError extends MusetteError {
  override readonly name = 'RejectedError'
  readonly status: number | undefined

  constructor(code: string, message: string, options?: ErrorOptions & { status?: number }) {
    super(code, message, options)
    this.status = options?.status
  }
}

/** An answer that cannot be read: HTML with status 200, cut JSON, a missing identity. */
export class UnexpectedResponseError extends MusetteError {
  override readonly name = 'UnexpectedResponseError'
}

/** The code of any error: ours, Node's (`ECONNRESET`), Postgres's SQLSTATE, or `unexpected`. */
export function errorCode(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
    return error.code
  }
  return 'unexpected'
}

/** One line for a log, a table cell or a person: no stack, no line breaks, no NUL, at most `limit` characters. */
export function errorLine(error: unknown, limit = 500): string {
  const text = error instanceof Error ? error.message : String(error)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return shorten(line, limit)
}

/** Whether an abort, ours or a library's, and no failure, ended the work. */
export function isAbort(error: unknown, signal?: AbortSignal): boolean {
  if (signal?.aborted && error === signal.reason) return true
  return error instanceof Error && error.name === 'AbortError'
}

/** Writes the command of a verb for an account, for sentences that tell a person what to type; `default` is left out. */
export function commandFor(verb: 'login' | 'sync' | 'upload --force', account: string): string {
  if (account === 'default') return `musette ${verb}`
  return verb.startsWith('upload') ? `musette ${verb} --account ${account}` : `musette ${verb} ${account}`
}
