import type { Clock } from '../../kit/clock.ts'
import { type CallDeps, hearRetryAfter } from '../calls.ts'
import { endpointUrl } from '../endpoints/urls.ts'
import { badShape, parseQuietly, tokenError } from '../errors.ts'
import type { RawAnswer, RequestBody, ServiceRequest } from '../transport/message.ts'
import { send } from '../transport/transport.ts'
import { parseToken } from '../wire/token.ts'
import type { TokenPair } from './vault.ts'

export type ClientCredentials = { baseUrl: string; clientId: string; clientSecret: string }

export type Grant =
  | { type: 'password'; username: string; password: string }
  | { type: 'refresh_token'; refreshToken: string }
  | { type: 'authorization_code'; code: string; redirectUri: string }

const WHAT: Readonly<Record<Grant['type'], string>> = {
  password: 'POST token with a password',
  refresh_token: 'POST token with a refresh token',
  authorization_code: 'POST token with an authorization code',
}

/** Makes the token request of a grant (service document, endpoint 1): HTTP Basic with the client's id and secret. */
export function makeTokenRequest(client: ClientCredentials, grant: Grant, totalMs: number): ServiceRequest {
  return {
    method: 'POST',
    endpoint: 'POST /oauth/token',
    url: endpointUrl(client.baseUrl, '/oauth/token'),
    what: WHAT[grant.type],
    authorization: basicHeader(client),
    body: formBody(grant),
    totalMs,
  }
}

/**
 * Asks for tokens, outside of any pace or lock; the caller has both. Stores nothing. Throws CredentialsRejectedError
 * when the service refuses the login for good, RejectedError when it refuses the client, and what `send` throws.
 */
export async function requestTokens(
  deps: Pick<CallDeps, 'transport' | 'pacer'>,
  input: { client: ClientCredentials; grant: Grant },
  signal?: AbortSignal,
): Promise<TokenPair> {
  const { transport } = deps
  const request = makeTokenRequest(input.client, input.grant, transport.options.timeouts.tokenMs)
  const answer = await send(transport, request, signal)
  hearRetryAfter(deps, answer, request.url.origin)
  return interpretTokenAnswer(answer, input.grant, transport.now)
}

/** Interprets a token answer by its content: an empty access token or an error word with status 200 is a refusal. */
export function interpretTokenAnswer(answer: RawAnswer, grant: Grant, now: Clock): TokenPair {
  const what = WHAT[grant.type]
  const good = answer.status >= 200 && answer.status <= 299
  const token = good ? parseToken(parseQuietly(answer)) : undefined
  if (!token) throw tokenError(answer, what, now(), grant.type === 'password' ? 'password' : 'other')
  // RFC 6749 section 6: an answer without a new refresh token means that the old one goes on.
  const refreshToken =
    token.refresh_token ?? (grant.type === 'refresh_token' ? grant.refreshToken : undefined)
  if (refreshToken === undefined) throw badShape(what, 'the answer holds no refresh token')
  const obtainedAt = answer.requestedAt
  const expiresAt = new Date(obtainedAt.getTime() + Math.round(token.expires_in * 1000))
  return { accessToken: token.access_token, refreshToken, obtainedAt, expiresAt }
}

/** Writes the address a rider's browser is sent to (service document, endpoint 2). */
export function makeAuthorizeUrl(
  client: Pick<ClientCredentials, 'baseUrl' | 'clientId'>,
  input: { redirectUri: string; state: string },
): string {
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
  return {
    kind: 'form',
    text: new URLSearchParams({ grant_type: grant.type, ...formFields(grant) }).toString(),
  }
}

function formFields(grant: Grant): Record<string, string> {
  if (grant.type === 'password') return { username: grant.username, password: grant.password }
  if (grant.type === 'refresh_token') return { refresh_token: grant.refreshToken }
  return { code: grant.code, redirect_uri: grant.redirectUri }
}

/** RFC 6749 section 2.3.1: id and secret are form-encoded before they are joined. */
function basicHeader(client: ClientCredentials): string {
  const pair = `${formEncode(client.clientId)}:${formEncode(client.clientSecret)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
