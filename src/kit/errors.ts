import { dirname } from 'node:path'
import { quoteShell, toLine } from './text.ts'

/**
 * The base class of musette's errors. Code decides by class and by `code`, which is stable, never by `message`. `message` is for people and
 * ends with the next command if a person can fix the problem.
 */
export class MusetteError extends Error {
  override readonly name: string = 'MusetteError'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** An error in usage or configuration that only a person can fix. */
export class ConfigError extends MusetteError {
  override readonly name = 'ConfigError'
}

/** A response with status 429. `retryAfterMs`: the pause that the other side requires, ms. */
export class RateLimitedError extends MusetteError {
  override readonly name = 'RateLimitedError'
  readonly retryAfterMs: number

  constructor(code: string, message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(code, message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/** A failure that is likely to pass: timeout, reset, 5xx, restart. `requestSent`: the whole request was sent and may have been processed. */
export class TransientError extends MusetteError {
  override readonly name = 'TransientError'
  readonly requestSent: boolean

  constructor(code: string, message: string, options?: ErrorOptions & { requestSent?: boolean }) {
    super(code, message, options)
    this.requestSent = options?.requestSent ?? false
  }
}

/** A final refusal of the login: `invalid_grant`, or a 401 with a new token. */
export class CredentialsRejectedError extends MusetteError {
  override readonly name = 'CredentialsRejectedError'
}

/** A refusal of the request (4xx, `success: false`). Another attempt would be refused again. */
export class RejectedError extends MusetteError {
  override readonly name = 'RejectedError'
  readonly status: number | undefined

  constructor(code: string, message: string, options?: ErrorOptions & { status?: number }) {
    super(code, message, options)
    this.status = options?.status
  }
}

/** A response that cannot be read: HTML with status 200, truncated JSON, a missing identity. */
export class UnexpectedResponseError extends MusetteError {
  override readonly name = 'UnexpectedResponseError'
}

/** Returns an error's code: musette's code, Node's code (`ECONNRESET`), the SQLSTATE from Postgres, or `unexpected`. */
export function errorCode(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
    return error.code
  }
  return 'unexpected'
}

/** Error codes of a service outage, and of work that waits for the end of an outage. */
const SERVICE_DOWN =
  /^(connect_failed|connection_lost|certificate_refused|http2_only|proxy_failed|timeout|cut_answer|server_error|refresh_pending|rider_pending)$/

/** Reports whether an error belongs to a service outage. The service's client logs each outage once. */
export function isServiceDown(error: unknown): boolean {
  return SERVICE_DOWN.test(errorCode(error))
}

/** Reports whether a write failed because the disk or the quota is full or the file reached its maximum size. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCode(error))
}

const NO_ROOM: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
}

/** Returns the error for a verb that could not write a file because the disk or the quota is full. Returns undefined for other errors. */
export function asDiskFull(error: unknown, folder?: string): TransientError | undefined {
  const what = NO_ROOM[errorCode(error)]
  if (what === undefined) return undefined
  const path = error instanceof Error && 'path' in error ? String(error.path) : folder
  const at = folder ?? (path && dirname(path))
  const run = at ? `df -h ${quoteShell(at)}` : 'df -h'
  const message = `${what}${path ? `: ${path}` : ''}; make room on that disk; run: ${run}`
  return new TransientError('disk_full', message, { cause: error })
}

/** Reports whether this process or the system has reached its limit of open files. */
export function isTooManyFiles(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(errorCode(error))
}

const UNKNOWN_AUTHORITY = ['is signed by an unknown authority', 'name its file in AUTHORITY'] as const
/** By Node's error code: what is wrong with a certificate, and how a person fixes it. */
const CERTIFICATE_FAULTS: Readonly<Record<string, readonly [fault: string, mend: string]>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: ['is for another host name', 'use its host name in ADDRESS'],
  CERT_HAS_EXPIRED: ['has expired', 'renew it, or check the clock of this machine'],
  CERT_NOT_YET_VALID: ['is not valid yet', 'check the clock of this machine'],
}

/**
 * Describes why a certificate was not accepted and how a person fixes it. Returns undefined for other errors. `address`: the setting that
 * names the server. `authority`: the setting that names the certificate file of an authority.
 */
export function describeCertificate(error: unknown, whose: string, address: string, authority: string) {
  const code = errorCode(error)
  if (!/CERT|SELF_SIGNED|VERIFY_LEAF/.test(code)) return undefined
  const [fault, mend] = CERTIFICATE_FAULTS[code] ?? UNKNOWN_AUTHORITY
  const named = mend.replace('ADDRESS', address).replace('AUTHORITY', authority)
  return `the certificate of ${whose} ${fault} (${code}); ${named}`
}

/** Returns the message of an error as one line of at most `limit` characters, without stack and invisible characters. */
export function errorLine(error: unknown, limit = 500): string {
  const text = error instanceof Error ? error.message : String(error)
  return toLine(text, limit)
}

/** Reports whether an error is an abort, by the signal or by a library, rather than a failure. */
export function isAbort(error: unknown, signal?: AbortSignal): boolean {
  if (signal?.aborted && error === signal.reason) return true
  return error instanceof Error && error.name === 'AbortError'
}

/** Rule for account names, for messages. */
export const ACCOUNT_NAMES =
  'an account name is letters, digits, - and _, at most 63 of them, starts with a letter or a digit, and is neither "done" nor "failed"'

/** Reports whether a name is a valid account name. An account name is also the name of a folder (`<drop>/<account>/`) and part of commands. */
export function isAccountName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,62}$/i.test(name) && !['done', 'failed'].includes(name)
}

/** Verbs that take the account as an argument. All other verbs have the option `--account`. */
const BY_ARGUMENT: readonly string[] = ['login', 'logout', 'sync', 'accounts set']

/** Formats the command line of a verb for an account, for messages, without the account if it is `default`. `words` are quoted for a shell. */
export function commandFor(verb: string, account: string, ...words: readonly string[]): string {
  const name = BY_ARGUMENT.includes(verb) ? [account] : ['--account', account]
  return ['musette', verb, ...(account === 'default' ? [] : name), ...words.map(quoteShell)].join(' ')
}

/** An error message of OpenSSL, with numbers and source positions around the reason. */
const OPENSSL = /error:[0-9A-F]{8}:SSL routines:[^:]*:([^:]+)/

/** Returns why a connection failed: the code of an AggregateError, whose message is empty, and only the reason of an OpenSSL error. */
export function connectReason(error: unknown): string {
  const line = errorLine(error) || errorCode(error)
  const reason = OPENSSL.exec(line)?.[1]
  return reason === undefined ? line : `TLS failed (${reason.trim()})`
}

/**
 * Error codes of a server, network or host name that is not available yet, and SQLSTATEs of a Postgres that starts or stops. ENOENT is not in
 * the list, because it counts only for a socket file, see isNotUpYet.
 */
const NOT_UP_YET =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(DOWN|UNREACH)|ETIMEDOUT|57P0[123])$/

/** Messages of the Postgres and Redis drivers if the other side closes the connection at once, as a proxy without a server does. */
const CLOSED_AT_ONCE: ReadonlySet<string> = new Set([
  'Connection terminated unexpectedly',
  'Connection is closed.',
])

/** Reports whether a connection failed because the server is not up yet, so that waiting helps. A refused password does not count. */
export function isNotUpYet(error: unknown): boolean {
  const code = errorCode(error)
  if (NOT_UP_YET.test(code)) return true
  if (!(error instanceof Error)) return false
  if (code === 'ENOENT') return 'syscall' in error && error.syscall === 'connect'
  return code === 'unexpected' && CLOSED_AT_ONCE.has(error.message)
}
