import {
  CredentialsRejectedError,
  describeCertificate,
  errorCode,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../kit/errors.ts'
import { HTTP2_ONLY } from '../../kit/http/answer-heads.ts'
import { decodeUtf8, excessOfText, isObject, parseIfJson } from '../../kit/json.ts'
import { quoteText, toLine } from '../../kit/text.ts'
import { type RawAnswer, retryAfterMs } from './http-message.ts'

// This file alone turns a status or a content into an error of the kit. `what` names the request (`activity ab12`). No message contains a
// URL's query or a token; a message contains only quoteRefusal's part of a body.

/** OAuth error codes that reject the access token, with any status (RFC 6750 section 3.1). */
const TOKEN_ERRORS: readonly string[] = ['invalid_token', 'expired_token', 'invalid_grant']
/** OAuth error codes that concern the client or the request, not the login. */
const CLIENT_ERRORS: readonly string[] = [
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]

/** Accepted values of `success`. */
const SUCCESS: readonly unknown[] = [true, 1, '1', 'true']
const FAILURE: readonly unknown[] = [false, 0, '0', 'false']

/** The parts of a response from which its content is read. */
export type AnswerContent = Pick<RawAnswer, 'status' | 'headers' | 'body'>

/** Turns a failure below HTTP (connecting, sending, reading) into a TransientError whose cause has only the code. */
export function networkError(
  error: unknown,
  what: string,
  at: { requestSent: boolean; answered: boolean; origin: string },
): TransientError {
  const code = networkCodeOf(error)
  const kind = networkKind(code, at)
  const requestSent = at.requestSent && !BEFORE_SENDING.includes(kind.code)
  return new TransientError(kind.code, `${what}: ${kind.text}`, { cause: plainCause(error), requestSent })
}

/** Codes of failures before anything was sent. */
const BEFORE_SENDING: readonly string[] = ['connect_failed', 'certificate_refused']

function networkKind(code: string, { answered, origin }: { answered: boolean; origin: string }) {
  if (/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)) {
    const cause = CAUSES[code] ? `: ${CAUSES[code]}` : ''
    return { code: 'connect_failed', text: `the service at ${origin} cannot be reached${cause} (${code})` }
  }
  if (/TIMEOUT|ETIMEDOUT/.test(code))
    return { code: 'timeout', text: `the service did not answer in time (${code})` }
  const refused = describeCertificate({ code }, origin, 'MUSETTE_BASE_URL', 'NODE_EXTRA_CA_CERTS')
  if (refused) return { code: 'certificate_refused', text: refused }
  if (code === HTTP2_ONLY || code.endsWith('_NO_APPLICATION_PROTOCOL')) {
    const text = `the server at ${origin} speaks HTTP/2 only, and musette HTTP/1.1; let the server, or a proxy before it, offer HTTP/1.1, too`
    return { code: 'http2_only', text: `${text} (${code})` }
  }
  if (answered) return { code: 'cut_answer', text: `the answer was cut off (${code})` }
  const seen = /SSL|EPROTO/.test(code) ? 'the server does not speak TLS' : 'the connection was lost'
  return { code: 'connection_lost', text: `${seen} (${code})` }
}

/** Why a connection failed, by system error code. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name lookup failed temporarily',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
}

/** Makes the error for a response status; undefined for 200 to 299. `words` is the result of quoteRefusal. */
export function statusError(answer: RawAnswer, what: string, now: Date, words = '') {
  const { status, requestSent } = answer
  if (status >= 200 && status <= 299) return undefined
  if (status === 429) {
    const wait = retryAfterMs(answer, now)
    const text = `${what}: the service asks to wait ${Math.ceil(wait / 1000)} s`
    return new RateLimitedError('rate_limited', text, wait)
  }
  const transient = (code: string, text: string) =>
    new TransientError(code, `${what}: the service ${text} (status ${status})`, { requestSent })
  if (status === 408) return transient('timeout', 'waited too long for the request')
  if (status >= 500) return transient('server_error', 'failed')
  if (status < 400) return redirectError(what, status)
  const word = parseOAuthError(parseQuietly(answer))
  if (status === 401 || (word !== undefined && TOKEN_ERRORS.includes(word))) return unauthorized(what)
  const message = `${what}: the service refused the request (status ${status})${words}`
  return new RejectedError('rejected', message, { status })
}

/**
 * Reads the JSON object of a response with a good status. Throws UnexpectedResponseError `not_json` (HTML, other text), `cut_json` or
 * `too_large`, RejectedError `success_false`, and RejectedError 401 if a 200 contains an OAuth error.
 */
export function parseJsonObject(answer: AnswerContent, what: string, words = ''): Record<string, unknown> {
  const excess = excessOfText(answer.body)
  if (excess !== undefined) throw new UnexpectedResponseError('too_large', `${what}: the answer ${excess}`)
  const text = decodeUtf8(answer.body)
  const start = text.trimStart()[0]
  if (isHtml(answer, text) || (start !== '{' && start !== '[')) {
    const content = start === undefined ? 'empty' : isHtml(answer, text) ? 'an HTML page' : 'other text'
    throw new UnexpectedResponseError('not_json', `${what}: the answer is not JSON but ${content}`)
  }
  const wire = parseIfJson(text)
  // JSON.parse quotes the text in its message, so its error is not kept as the cause.
  if (wire === undefined)
    throw new UnexpectedResponseError('cut_json', `${what}: the answer is cut or broken JSON`)
  if (!isObject(wire)) throw badShape(what, 'the answer is not an object')
  const word = parseOAuthError(wire)
  if (SUCCESS.includes(wire.success)) return wire
  if (word !== undefined && TOKEN_ERRORS.includes(word)) throw unauthorized(what)
  if (word !== undefined || FAILURE.includes(wire.success)) {
    const message = `${what}: the service answered that the request failed${words}`
    throw new RejectedError('success_false', message, { status: answer.status })
  }
  throw badShape(what, 'the answer does not say whether the request succeeded')
}

/** Reads the text of a workout file. Throws UnexpectedResponseError for HTML or an empty file, RejectedError for a JSON failure. */
export function parseFileText(answer: AnswerContent, what: string): string {
  const text = decodeUtf8(answer.body)
  if (isHtml(answer, text)) {
    throw new UnexpectedResponseError('not_a_file', `${what}: the answer is an HTML page, not a workout file`)
  }
  if (text.trim() === '') throw badShape(what, 'the file is empty')
  const wire = parseQuietly(answer)
  if (isObject(wire) && (FAILURE.includes(wire.success) || parseOAuthError(wire) !== undefined))
    parseJsonObject(answer, what)
  return text
}

/** Parses the body of a token response as JSON, whatever the response's status. Returns undefined if the body is not JSON. */
export function parseQuietly(answer: AnswerContent): unknown {
  return excessOfText(answer.body) === undefined ? parseIfJson(decodeUtf8(answer.body)) : undefined
}

/** How servers that expect TLS answer plain HTTP: nginx, Apache, and Go programs. */
const EXPECTS_TLS =
  /plain HTTP (request was sent to HTTPS|to an SSL-enabled)|HTTP request to an HTTPS server/i

/** Makes the error for a token response from another program than the service; undefined if it may come from the service. */
function foreignError(answer: RawAnswer, failed: string, { host }: URL): RejectedError | undefined {
  const { status } = answer
  const text = excessOfText(answer.body) === undefined ? decodeUtf8(answer.body) : ''
  const by = (code: string, said: string) => new RejectedError(code, `${failed}: ${host} ${said}`, { status })
  if (status === 400 && EXPECTS_TLS.test(text)) {
    const said = 'expects https at this port (status 400); write https:// into MUSETTE_BASE_URL'
    return by('https_expected', said)
  }
  const content = isHtml(answer, text) ? 'HTML' : /^\s*[^\s[{"]/.test(text) && 'a text that is not JSON'
  if (!content) return undefined
  return by('not_json', `answered ${status} with ${content}, not as the service does; is there a proxy?`)
}

/**
 * Makes the error for a token response without a token (service document, endpoint 1). The content decides first: `invalid_grant` and a
 * refused password become a CredentialsRejectedError, a refused client and a proxy's response a RejectedError. Otherwise the status decides.
 */
export function tokenError(
  answer: RawAnswer,
  {
    what,
    url,
    grant,
  }: { what: string; url: URL; grant: 'password' | 'refresh_token' | 'authorization_code' },
  now: Date,
) {
  const word = parseOAuthError(parseQuietly(answer))
  const { status } = answer
  const byStatus = statusError(answer, what, now)
  if (byStatus && !(byStatus instanceof RejectedError)) return byStatus
  const failed = grant === 'refresh_token' ? `${what} failed` : 'sign-in failed'
  const foreign = foreignError(answer, failed, url)
  if (foreign) return foreign
  if (word === 'invalid_grant') {
    const reason =
      grant === 'password' ? 'the user name or the password was refused' : 'this login is no longer valid'
    return new CredentialsRejectedError('invalid_grant', `${reason}; run: musette login`)
  }
  if (word !== undefined && CLIENT_ERRORS.includes(word)) {
    return new RejectedError(word, `${what}: the service refused the client (${word})`, { status })
  }
  if (grant === 'password' && (status === 400 || status === 401)) {
    const text = 'the service refused this user name and password; run: musette login'
    return new CredentialsRejectedError('login_refused', text)
  }
  if (byStatus) return byStatus
  if (word !== undefined)
    return new RejectedError('rejected', `${what}: the service refused the request`, { status })
  return badShape(what, 'the answer of the service has no token')
}

export function badShape(what: string, reason: string): UnexpectedResponseError {
  return new UnexpectedResponseError('bad_shape', `${what}: ${reason}`)
}

/** Makes the error for a redirect; `target` names where it leads, without path and query. */
export function redirectError(what: string, status: number, target = 'no address'): UnexpectedResponseError {
  const message = `${what}: the service redirects to ${target} (status ${status})`
  return new UnexpectedResponseError('redirect_refused', message)
}

/** Makes the error for a response above the body limit, in bytes after decompression. */
export function tooLarge(what: string, limit: number): UnexpectedResponseError {
  return new UnexpectedResponseError('too_large', `${what}: the answer is larger than ${limit} bytes`)
}

function unauthorized(what: string): RejectedError {
  return new RejectedError('unauthorized', `${what}: the service refused the login`, { status: 401 })
}

function isHtml(answer: AnswerContent, text: string): boolean {
  if (/^\s*(<!doctype\s+html|<html)/i.test(text.slice(0, 500))) return true
  return /\bhtml\b/i.test(answer.headers['content-type'] ?? '') && text.trimStart().startsWith('<')
}

/** Maximum depth in a chain of causes. Chains are short; the limit only guards against a circular one. */
const MAX_DEPTH = 5

/** Returns the first stable code in an error's chain: undici wraps the socket's error, and Happy Eyeballs makes an AggregateError. */
function networkCodeOf(error: unknown, depth = 0): string {
  const code = errorCode(error)
  if (code !== 'unexpected' || depth >= MAX_DEPTH || !(error instanceof Error)) return code
  if (error instanceof AggregateError && error.errors.length > 0)
    return networkCodeOf(error.errors[0], depth + 1)
  return error.cause === undefined ? code : networkCodeOf(error.cause, depth + 1)
}

/** Makes a cause that is safe to log, with code and kind only: a message of undici may contain bytes of a response, and so tokens. */
function plainCause(error: unknown): Error {
  const code = networkCodeOf(error)
  return Object.assign(new Error(`${error instanceof Error ? error.name : 'Error'} ${code}`), { code })
}

/** Returns the `error` code of an OAuth error body (RFC 6749 section 5.2); undefined if there is none. */
export function parseOAuthError(wire: unknown): string | undefined {
  if (!isObject(wire) || typeof wire.error !== 'string' || wire.error === '') return undefined
  return wire.error
}

/** The members of a response that may contain the reason, most detailed first. */
const MEMBERS = ['error_description', 'message', 'reason', 'error'] as const
/** Maximum length of a quoted reason: enough for a sentence; a longer text was not written for a person. */
const MAX_CHARACTERS = 200
/** A long run of characters other than a plain word; it may be an encoded token. */
const LONG_RUN = /[^\s"'(),;<>[\]{}]{16,}/g
const PLAIN_WORD = /^\p{Lu}?\p{Ll}{0,30}[.:!?]?$/u

/**
 * Quotes the service's reason for a refusal from a JSON response, for the end of a message: one line of at most 200 characters, without
 * anything that may be a secret. Returns '' if there is no reason or it repeats the request's token. Only for requests whose only secret is
 * their access token.
 */
export function quoteRefusal(answer: RawAnswer, authorization: string | undefined): string {
  const wire = parseQuietly(answer)
  if (!isObject(wire)) return ''
  const text = MEMBERS.map((member) => wire[member]).find(
    (value) => typeof value === 'string' && value !== '',
  )
  if (typeof text !== 'string') return ''
  const token = authorization?.split(' ').at(-1)
  if (/bearer|authorization/i.test(text) || (token && text.includes(token))) return ''
  const plain = text.replace(LONG_RUN, (run) => (PLAIN_WORD.test(run) ? run : '…'))
  return toLine(plain) === '' ? '' : `: ${quoteText(plain, MAX_CHARACTERS)}`
}
