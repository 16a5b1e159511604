import { randomBytes } from 'node:crypto'
import { CredentialsRejectedError, TransientError } from '../../kit/errors.ts'
import type { Clock } from '../../kit/time.ts'
import { applyRetryAfter, type CallDeps, endpointUrl } from './calls.ts'
import type { TokenPair } from './credentials.ts'
import type { RawAnswer, RequestBody, ServiceRequest } from './http-message.ts'
import { badShape, parseOAuthError, parseQuietly, tokenError } from './service-errors.ts'
import { send } from './transport.ts'
import { parseToken } from './wire/wire-token.ts'

export type ClientCredentials = { baseUrl: string; clientId: string; clientSecret: string }
/** The client, as named in a login page's address. */
export type Application = Omit<ClientCredentials, 'clientSecret'>

export type Grant =
  | { type: 'password'; username: string; password: string }
  | { type: 'refresh_token'; refreshToken: string }
  | { type: 'authorization_code'; code: string; redirectUri: string }

const WHAT: Readonly<Record<Grant['type'], string>> = {
  password: 'signing in',
  refresh_token: 'renewing the login',
  authorization_code: 'signing in',
}

/**
 * Requests tokens (service document, endpoint 1), with the client's id and secret by HTTP Basic, and stores nothing; the caller takes the
 * pacer and the lock. Throws CredentialsRejectedError if the service refuses the login, RejectedError if it refuses the client, and `send`'s
 * errors.
 */
export async function requestTokens(
  deps: Pick<CallDeps, 'transport' | 'pacer'>,
  { client, grant }: { client: ClientCredentials; grant: Grant },
  signal?: AbortSignal,
): Promise<TokenPair> {
  const { transport } = deps
  const request: ServiceRequest = {
    ...{ method: 'POST', endpoint: 'POST /oauth/token', url: endpointUrl(client.baseUrl, '/oauth/token') },
    ...{ what: WHAT[grant.type], authorization: basicHeader(client), body: formBody(grant) },
    totalMs: transport.options.timeouts.tokenMs,
  }
  const answer = await send(transport, request, signal)
  applyRetryAfter(deps, answer, request.url.origin)
  return interpretTokenAnswer(answer, grant, { now: transport.now, url: request.url })
}

/** Requests tokens for a login and stores nothing. Refreshes a pair without a usable access token once. Throws like requestTokens. */
export async function requestLogin(
  deps: Pick<CallDeps, 'transport' | 'pacer'>,
  { client, grant }: { client: ClientCredentials; grant: Grant },
  signal?: AbortSignal,
): Promise<TokenPair> {
  const pair = await requestTokens(deps, { client, grant }, signal)
  if (pair.accessToken !== '') return pair
  const { refreshToken } = pair
  const again = { client, grant: { type: 'refresh_token', refreshToken } } as const
  return requestTokens(deps, again, signal).catch((error: unknown) => {
    signal?.throwIfAborted()
    if (error instanceof CredentialsRejectedError) throw error
    return pair
  })
}

/**
 * Reads a token response by its content: an empty access token or an error code with status 200 is a refusal. With a refresh token and no
 * error code, a missing or malformed access token becomes '' and counts as expired.
 */
function interpretTokenAnswer(
  answer: RawAnswer,
  grant: Grant,
  { now, url }: { now: Clock; url: URL },
): TokenPair {
  const what = WHAT[grant.type]
  const good = answer.status >= 200 && answer.status <= 299
  // A numeric token keeps all of its digits.
  const text = answer.body.toString('utf8').replace(/("refresh_token"\s*:\s*)(\d+)(?=\s*[,}])/, '$1"$2"')
  const wire = parseQuietly({ ...answer, body: Buffer.from(text) })
  const token = good ? parseToken(wire) : undefined
  if (!token || (token.access_token === undefined && parseOAuthError(wire) !== undefined))
    throw tokenError(answer, { what, url, grant: grant.type }, now())
  // RFC 6749 section 6: the old refresh token stays valid if the response has no new one.
  const refreshToken =
    token.refresh_token ?? (grant.type === 'refresh_token' ? grant.refreshToken : undefined)
  if (refreshToken === undefined) throw badShape(what, 'the answer holds no refresh token')
  const obtainedAt = answer.requestedAt
  if (token.access_token === undefined)
    return { accessToken: '', refreshToken, obtainedAt, expiresAt: obtainedAt }
  const expiresAt = new Date(obtainedAt.getTime() + Math.round(token.expires_in * 1000))
  return { accessToken: token.access_token, refreshToken, obtainedAt, expiresAt }
}

/** Makes the address to which a rider's browser is sent (service document, endpoint 2). */
export function authorizeUrl(client: Application, input: { redirectUri: string; state: string }): string {
  const url = endpointUrl(client.baseUrl, '/oauth/authorize')
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: input.redirectUri,
    state: input.state,
  }).toString()
  return url.href
}

function formBody(grant: Grant): RequestBody {
  const { type, ...fields } = grant
  const form = new URLSearchParams({ grant_type: type })
  // `redirectUri` is `redirect_uri` in a form.
  for (const [name, value] of Object.entries(fields))
    form.append(name.replace(/[A-Z]/, '_$&').toLowerCase(), value)
  return { contentType: 'application/x-www-form-urlencoded', content: form.toString() }
}

/** Makes a Basic header; id and secret are form-encoded before they are joined (RFC 6749 section 2.3.1). */
function basicHeader(client: ClientCredentials): string {
  const pair = `${formEncode(client.clientId)}:${formEncode(client.clientSecret)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/**
 * Requests the page that starts a login, like a browser but without following redirects (service document, endpoint 2). A service that refuses
 * the client or the redirect address shows a page with the reason and never redirects (RFC 6749 section 4.1.2.1). Returns the refusal in a few
 * words; undefined if there is none or the response is unclear. Throws TransientError `connect_failed` or `proxy_failed`.
 */
export async function fetchAuthorizeRefusal(
  deps: Pick<CallDeps, 'transport'>,
  input: { client: Application; redirectUri: string },
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { client, redirectUri } = input
  // A separate state, because the login's state is valid for one response only.
  const state = randomBytes(24).toString('base64url')
  const request: ServiceRequest = {
    ...{ method: 'GET', endpoint: 'GET /oauth/authorize', what: 'the sign-in page' },
    url: new URL(authorizeUrl(client, { redirectUri, state })),
    ...{ authorization: undefined, redirects: 'manual' },
    totalMs: deps.transport.options.timeouts.tokenMs,
  }
  try {
    return refusalOf(await send(deps.transport, request, signal), redirectUri)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof TransientError && /^(connect|proxy)_failed$/.test(error.code)) throw error
    return undefined
  }
}

/** Returns the refusal in a response. Only a 400 with an OAuth error is a refusal, because a 403 may be meant for non-browsers. */
function refusalOf(answer: RawAnswer, redirectUri: string): string | undefined {
  const { location } = answer.headers
  const sentBack = location?.startsWith(redirectUri) && URL.canParse(location) ? new URL(location) : undefined
  const word = sentBack?.searchParams.get('error') ?? parseOAuthError(parseQuietly(answer))
  if (word !== undefined && answer.status < 500) return /^[a-z_]{1,60}$/.test(word) ? word : 'an error'
  return answer.status === 400 ? 'status 400' : undefined
}
