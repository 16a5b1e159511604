import { timingSafeEqual } from 'node:crypto'
import { percentDecode } from '../http/http-server.ts'
import { json, type Reply } from '../http/reply.ts'
import { type Request, readForm } from '../http/request.ts'
import { checkForm } from '../http/strict.ts'
import type { World } from '../world.ts'
import type { Client } from './grant-book.ts'
import { type Grant, issuePair, recordGrant, redeemCode, redeemRefresh } from './grant-book.ts'

type Refusal = { error: string; description: string; status?: number }

/** Answers POST /oauth/token for the three grant types; a refresh returns a new pair and ends the used refresh token. */
export async function answerToken(world: World, request: Request): Promise<Reply> {
  const form = await readForm(request)
  const { authorization } = request.message.headers
  const mayCome = checkForm(world, request, form)
  const client = mayCome ? authenticateClient(world.clients, { authorization, form }) : undefined
  const outcome = client ? decide(world, client, form) : INVALID_CLIENT
  if ('error' in outcome) {
    world.counts.tokens.rejected++
    const { error, description, status = 400 } = outcome
    return json(status, { error, error_description: description }, { 'cache-control': 'no-store' })
  }
  world.counts.tokens[form.get('grant_type') as Client['grants'][number]]++
  const pair = issuePair(world.grants, {
    grantId: outcome.id,
    nowMs: world.now().getTime(),
    seconds: world.settings.access_token_seconds,
    refreshSeconds: world.settings.refresh_token_seconds,
  })
  const { access_token, refresh_token, expires_in } = pair
  const body = { access_token, expires_in, token_type: 'Bearer', scope: 'basic', refresh_token }
  return json(200, body, { 'cache-control': 'no-store', pragma: 'no-cache' })
}

const refusal = (error: string, description: string, status = 400): Refusal => ({
  error,
  description,
  status,
})

/** Status 400 without a challenge, as in the service's library. */
const INVALID_CLIENT = refusal('invalid_client', 'The client credentials are invalid')

function decide(world: World, client: Client, form: URLSearchParams): Grant | Refusal {
  const { grants, riders, settings } = world
  const [type, clientId, nowMs] = [form.get('grant_type'), client.id, world.now().getTime()]
  if (!type) return refusal('invalid_request', 'grant_type is missing')
  if (!['password', 'refresh_token', 'authorization_code'].includes(type))
    return refusal('unsupported_grant_type', 'The grant type is not supported')
  if (!client.grants.some((grant) => grant === type))
    return refusal('unauthorized_client', 'The client may not use this grant type')
  if (!['', 'basic'].includes(form.get('scope')?.trim() ?? ''))
    return refusal('invalid_scope', 'The only scope is basic')
  if (type === 'password') {
    const [username, password] = [form.get('username'), form.get('password')]
    if (username === null || password === null)
      return refusal('invalid_request', 'username and password are needed')
    const rider = riders.get(username)
    if (rider && samePassword(rider.password, password)) return recordGrant(grants, { username, clientId })
    return refusal('invalid_grant', 'Invalid username and password combination', 401)
  }
  if (type === 'refresh_token') {
    const token = form.get('refresh_token') ?? ''
    const redeemed = redeemRefresh(grants, {
      ...{ token, clientId, nowMs },
      reuseRevokes: settings.reuse_revokes_grant,
    })
    return redeemed ?? refusal('invalid_grant', 'Invalid refresh token')
  }
  const [code, redirectUri] = [form.get('code') ?? '', form.get('redirect_uri') ?? '']
  const invalid = refusal('invalid_grant', 'The authorization code is invalid, used or has expired')
  return redeemCode(grants, { code, clientId, redirectUri, nowMs }) ?? invalid
}

/** Compares passwords; a client that does not escape sends `+`, which the form decodes as a space. */
function samePassword(known: string, given: string): boolean {
  return sameText(known, given) || sameText(known, given.replaceAll(' ', '+'))
}

/**
 * Finds the client of a token request, by Basic credentials, raw or percent-encoded (RFC 6749 §2.3.1), or by client_id and client_secret in
 * the form. Returns undefined if no client matches.
 */
function authenticateClient(
  clients: readonly Client[],
  request: { authorization: string | undefined; form: URLSearchParams },
): Client | undefined {
  const { authorization, form } = request
  const match = (id: string, secret: string) => {
    const client = clients.find((each) => each.id === id)
    return client && sameText(client.secret, secret) ? client : undefined
  }
  const basic = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization ?? '')
  if (!authorization) return match(form.get('client_id') ?? '', form.get('client_secret') ?? '')
  if (!basic) return undefined
  const pair = Buffer.from(basic[1] as string, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon < 0) return undefined
  const formDecode = (text: string) => percentDecode(text.replaceAll('+', ' '))
  const [id, secret] = [pair.slice(0, colon), pair.slice(colon + 1)]
  return match(id, secret) ?? match(formDecode(id), formDecode(secret))
}

/** Compares secrets in constant time. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
