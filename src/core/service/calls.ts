import { RejectedError, TransientError } from '../../kit/errors.ts'
import { type Backoff, backoffMs, SECOND, type Sleep } from '../../kit/time.ts'
import type { Credentials, LoginAccount } from './credentials.ts'
import { parseRetryAfter, type RawAnswer, retryAfterMs, type ServiceRequest } from './http-message.ts'
import type { Pacer } from './pacer.ts'
import { quoteRefusal, statusError } from './service-errors.ts'
import { send, type TransportDeps } from './transport.ts'

export type CallDeps = { transport: TransportDeps; pacer: Pacer; sleep: Sleep; random: () => number }

/** Maximum number of retries of a GET after a TransientError; callers handle longer outages. */
const READ_RETRIES = 2
const READ_BACKOFF: Backoff = { firstMs: 1 * SECOND, maxMs: 10 * SECOND, factor: 4 }
/** Maximum pause of other calls after a 503, ms, because its Retry-After is a hint and not a limit. */
const MAX_OUTAGE_PAUSE_MS = 60 * SECOND

/** Sends one request once the pacer allows it, and returns a response with status 200 to 299. Throws statusError's errors. */
export async function callOnce(
  deps: CallDeps,
  input: { request: ServiceRequest; queue: string },
  signal?: AbortSignal,
): Promise<RawAnswer> {
  const { request, queue } = input
  const answer = await deps.pacer.run(
    { queue, origin: request.url.origin },
    () => send(deps.transport, request, signal),
    signal,
  )
  applyRetryAfter(deps, answer, request.url.origin)
  const words = request.endpoint === 'POST /oauth/upload' ? quoteRefusal(answer, request.authorization) : ''
  const error = statusError(answer, request.what, deps.transport.now(), words)
  if (!error) return answer
  request.hold?.release()
  throw error
}

/** Pauses every call to the origin after a 429, or after a 503 with a Retry-After header. */
export function applyRetryAfter(
  deps: Pick<CallDeps, 'transport' | 'pacer'>,
  answer: RawAnswer,
  origin: string,
): void {
  const now = deps.transport.now()
  if (answer.status === 429) deps.pacer.pause(origin, retryAfterMs(answer, now))
  if (answer.status === 503) {
    const ms = parseRetryAfter(answer, now) ?? 0
    deps.pacer.pause(origin, Math.min(ms, MAX_OUTAGE_PAUSE_MS))
  }
}

/** Sends a GET, and retries it after a TransientError. */
export async function callRead(
  deps: CallDeps,
  input: { request: ServiceRequest; queue: string },
  signal?: AbortSignal,
): Promise<RawAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await callOnce(deps, input, signal)
    } catch (error) {
      if (!(error instanceof TransientError) || attempt > READ_RETRIES) throw error
      await deps.sleep(backoffMs(READ_BACKOFF, attempt, deps.random), signal)
    }
  }
}

/** Makes the URL of an endpoint; the base URL may have a path. */
export function endpointUrl(baseUrl: string, path: string, query: Record<string, string> = {}): URL {
  const base = new URL(baseUrl)
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`)
  url.search = new URLSearchParams(query).toString()
  return url
}

/** Makes the URL of one object (endpoints 7 and 8), with the path escaped to one segment. Throws RejectedError `bad_path` if the path is dots or empty. */
export function objectUrl(baseUrl: string, folder: string, path: string, query: Record<string, string> = {}) {
  // URL resolves dots, so the request would go to another endpoint.
  if (path === '' || path === '.' || path === '../..') {
    throw new RejectedError('bad_path', `"${path}" is not the path of an activity or a workout`)
  }
  // The Buffer replaces unpaired surrogates, for which encodeURIComponent throws.
  return endpointUrl(baseUrl, `${folder}/${encodeURIComponent(Buffer.from(path).toString())}`, query)
}

/**
 * Makes the URL of a workout file (service document, endpoint 4) from the service's address, absolute or relative. `what` names the request in
 * messages. Throws RejectedError `foreign_origin` if the address has another origin than the base URL, and `bad_url` if it is not a URL.
 */
export function fileUrl(baseUrl: string, address: string, what: string): URL {
  const base = endpointUrl(baseUrl, '/')
  if (!URL.canParse(address, base.href))
    throw new RejectedError('bad_url', `${what}: the address cannot be read`)
  const url = new URL(address, base)
  if (url.origin === base.origin) return url
  throw new RejectedError('foreign_origin', `${what}: the address does not belong to the service`)
}

/**
 * Throws TransientError `account_moved` if the tokens came from another service than the account's address, because the account was signed in
 * elsewhere after its row was read. The error is transient, because the next read of the row has the new address.
 */
export function assertOrigin(account: LoginAccount, credentials: Credentials): void {
  if (credentials.origin === new URL(account.baseUrl).origin) return
  const message = `account "${account.name}" was signed in at another address meanwhile; the next attempt uses it`
  throw new TransientError('account_moved', message)
}
