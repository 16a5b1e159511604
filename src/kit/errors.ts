import { dirname } from 'node:path'
import { quoteShell, toLine } from './text.ts'

/**
 * The base of musette's kinds of error. Code decides by kind and by `code`, which is stable, and never by the text of
 * `message`. `message` is for people and ends with the next command where a person can mend the problem.
 */
export class MusetteError extends Error {
  override readonly name: string = 'MusetteError'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** An error in usage or configuration that only a person can mend. */
export class ConfigError extends MusetteError {
  override readonly name = 'ConfigError'
}

/** An answer of status 429. `retryAfterMs` is the pause that the other side requires, in ms. */
export class RateLimitedError extends MusetteError {
  override readonly name = 'RateLimitedError'
  readonly retryAfterMs: number

  constructor(code: string, message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(code, message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/** A failure that is likely to pass: timeout, reset, 5xx, restart. `requestSent`: the whole request was sent, and may have been acted on. */
export class TransientError extends MusetteError {
  override readonly name = 'TransientError'
  readonly requestSent: boolean

  constructor(code: string, message: string, options?: ErrorOptions & { requestSent?: boolean }) {
    super(code, message, options)
    this.requestSent = options?.requestSent ?? false
  }
}

/** A definite refusal of the login: `invalid_grant`, or a 401 with a new token. */
export class CredentialsRejectedError extends MusetteError {
  override readonly name = 'CredentialsRejectedError'
}

/** A refusal of the request (4xx, `success: false`), which would be repeated. */
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

/** Returns the code of any error: musette's, Node's (`ECONNRESET`), Postgres's SQLSTATE, or `unexpected`. */
export function errorCode(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
    return error.code
  }
  return 'unexpected'
}

/** Codes of an outage of the service, and of what waits for its end. */
const SERVICE_DOWN =
  /^(connect_failed|connection_lost|certificate_refused|http2_only|proxy_failed|timeout|cut_answer|server_error|refresh_pending|rider_pending)$/

/** Tells whether an error is that of an outage of the service, which its client logs once. */
export function isServiceDown(error: unknown): boolean {
  return SERVICE_DOWN.test(errorCode(error))
}

/** Tells whether a write failed because the disk, the quota or the largest size of a file was reached. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCode(error))
}

const NO_ROOM: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
}

/** Returns the error of a verb that could not write a file because the disk or the quota is full; undefined for another reason. */
export function asDiskFull(error: unknown, folder?: string): TransientError | undefined {
  const what = NO_ROOM[errorCode(error)]
  if (what === undefined) return undefined
  const path = error instanceof Error && 'path' in error ? String(error.path) : folder
  const at = folder ?? (path && dirname(path))
  const run = at ? `df -h ${quoteShell(at)}` : 'df -h'
  const message = `${what}${path ? `: ${path}` : ''}; make room on that disk; run: ${run}`
  return new TransientError('disk_full', message, { cause: error })
}

/** Tells whether this process or the whole system has as many open files as it may. */
export function isTooManyFiles(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(errorCode(error))
}

const UNKNOWN_AUTHORITY = [
  'comes from an authority that is not known here',
  'name its file in AUTHORITY',
] as const
/** What is wrong with a certificate by Node's code, and what mends it. */
const CERTIFICATE_FAULTS: Readonly<Record<string, readonly [fault: string, mend: string]>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: ['is for another host name', 'write the name that it is for into ADDRESS'],
  CERT_HAS_EXPIRED: ['has expired', 'let it be renewed, or look at the clock of this machine'],
  CERT_NOT_YET_VALID: ['is not valid yet', 'look at the clock of this machine'],
}

/**
 * Says why a certificate was not accepted and what mends that, by the code of Node's error; undefined for other errors. `address` is the setting
 * that names the server, `authority` the one that names an authority which Node does not know.
 */
export function describeCertificate(error: unknown, whose: string, address: string, authority: string) {
  const code = errorCode(error)
  if (!/CERT|SELF_SIGNED|VERIFY_LEAF/.test(code)) return undefined
  const [fault, mend] = CERTIFICATE_FAULTS[code] ?? UNKNOWN_AUTHORITY
  const named = mend.replace('ADDRESS', address).replace('AUTHORITY', authority)
  return `the certificate of ${whose} ${fault} (${code}); ${named}`
}

/** Returns the message of any error as one line of at most `limit` characters, see toLine, without stack. */
export function errorLine(error: unknown, limit = 500): string {
  const text = error instanceof Error ? error.message : String(error)
  return toLine(text, limit)
}

/** Tells whether an error is an abort, by the signal or by a library, and not a failure. */
export function isAbort(error: unknown, signal?: AbortSignal): boolean {
  if (signal?.aborted && error === signal.reason) return true
  return error instanceof Error && error.name === 'AbortError'
}

/** What an account may be called, for messages. */
export const ACCOUNT_NAMES =
  'an account name is letters, digits, - and _, begins with a letter or a digit, has 63 at most, and is neither "done" nor "failed"'

/** Tells whether an account may have this name, which is also the name of a folder (`<drop>/<account>/`) and part of commands. */
export function isAccountName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,62}$/i.test(name) && !['done', 'failed'].includes(name)
}

/** Those that take the account as an argument; the others have the option `--account`. */
const BY_ARGUMENT: readonly string[] = ['login', 'logout', 'sync', 'accounts set']

/** Returns the command line of a verb for an account, for messages; the account `default` is left out. A shell takes `words` as they are. */
export function commandFor(verb: string, account: string, ...words: readonly string[]): string {
  const name = BY_ARGUMENT.includes(verb) ? [account] : ['--account', account]
  return ['musette', verb, ...(account === 'default' ? [] : name), ...words.map(quoteShell)].join(' ')
}

/** OpenSSL's message, with numbers and places of its source around the reason. */
const OPENSSL = /error:[0-9A-F]{8}:SSL routines:[^:]*:([^:]+)/

/** Returns why a connection failed: by the code of an AggregateError, whose message is empty, and the reason alone of what OpenSSL says. */
export function connectReason(error: unknown): string {
  const line = errorLine(error) || errorCode(error)
  const reason = OPENSSL.exec(line)?.[1]
  return reason === undefined ? line : `TLS failed (${reason.trim()})`
}

/**
 * Codes of a server that is not there yet, of a network that is not, of a name that is not known yet, and the SQLSTATEs of a
 * Postgres that starts or stops. ENOENT is that of a socket's file; for any other file it would be a wrong setting.
 */
const NOT_UP_YET =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(DOWN|UNREACH)|ETIMEDOUT|57P0[123])$/

/** How the drivers of Postgres and Redis name a connection that the other side closed without a word, as a proxy before it does. */
const CLOSED_AT_ONCE: ReadonlySet<string> = new Set([
  'Connection terminated unexpectedly',
  'Connection is closed.',
])

/** Tells whether a connection's error is of a server that is not up yet, so that waiting helps; a refused password is none. */
export function isNotUpYet(error: unknown): boolean {
  const code = errorCode(error)
  if (NOT_UP_YET.test(code)) return true
  if (!(error instanceof Error)) return false
  if (code === 'ENOENT') return 'syscall' in error && error.syscall === 'connect'
  return code === 'unexpected' && CLOSED_AT_ONCE.has(error.message)
}
