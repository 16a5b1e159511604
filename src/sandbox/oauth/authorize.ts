import { html, type Reply, redirect } from '../http/reply.ts'
import { type Request, readForm } from '../http/request.ts'
import type { World } from '../state/world.ts'
import { type Client, findClient, sameText } from './clients.ts'
import { type Challenge, issueCode, makeSecret } from './grants.ts'
import { makeConsentPage, makeLoginPage, makeRefusalPage } from './pages.ts'

const COOKIE = 'sandbox_session'

type Ask = { client: Client; redirectUri: string; challenge: Challenge | undefined; action: string }

/** Answers GET /oauth/authorize: the login page, or the consent screen for a rider who is signed in. */
export function answerAuthorize(world: World, request: Request): Reply {
  const ask = checkAsk(world, request)
  if (!('client' in ask)) return ask
  const session = findSession(world, request)
  if (!session) return html(200, makeLoginPage({ action: ask.action, failed: false }))
  return html(
    200,
    makeConsentPage({
      action: ask.action,
      application: ask.client.name,
      username: session.username,
      csrf: session.csrf,
    }),
  )
}

/** Answers the two forms of the authorize pages: signing in, and approving or denying. */
export async function answerAuthorizeForm(world: World, request: Request): Promise<Reply> {
  const ask = checkAsk(world, request)
  if (!('client' in ask)) return ask
  const form = await readForm(request)
  if (form.get('step') === 'login') return signIn(world, ask, form)
  const session = findSession(world, request)
  if (!session) return html(200, makeLoginPage({ action: ask.action, failed: false }))
  if (!sameText(session.csrf, form.get('csrf') ?? '')) {
    return html(403, makeRefusalPage('The form is stale; go back and try again.'))
  }
  if (form.get('decision') !== 'approve') return sendBack(request, ask, { error: 'access_denied' })
  const code = issueCode(world.grants, {
    username: session.username,
    clientId: ask.client.id,
    redirectUri: ask.redirectUri,
    challenge: ask.challenge,
    nowMs: world.now().getTime(),
  })
  return sendBack(request, ask, { code })
}

/** A client or redirect address that is not registered is told so on a page, never by a redirect. */
function checkAsk(world: World, request: Request): Ask | Reply {
  const client = findClient(world.clients, request.query.get('client_id') ?? '')
  if (!client?.grants.includes('authorization_code')) {
    return html(400, makeRefusalPage('The application is not known.'))
  }
  const redirectUri = request.query.get('redirect_uri') ?? ''
  if (!client.mayRedirect(redirectUri)) {
    return html(400, makeRefusalPage('The redirect address is not registered for this application.'))
  }
  const challenge = readChallenge(request.query)
  const action = `${request.path}?${request.rawQuery}`
  const ask = { client, redirectUri, challenge: challenge ?? undefined, action }
  if (request.query.get('response_type') !== 'code') {
    return sendBack(request, ask, { error: 'unsupported_response_type' })
  }
  return challenge === null ? sendBack(request, ask, { error: 'invalid_request' }) : ask
}

/** Reads the challenge of RFC 7636: undefined when none was sent, null when its method is not known. */
function readChallenge(query: URLSearchParams): Challenge | undefined | null {
  const value = query.get('code_challenge')
  const method = query.get('code_challenge_method') ?? 'plain'
  if (!value) return undefined
  return method === 'S256' || method === 'plain' ? { value, method } : null
}

function signIn(world: World, ask: Ask, form: URLSearchParams): Reply {
  const rider = world.riders.get(form.get('username') ?? '')
  if (!rider || !sameText(rider.password, form.get('password') ?? '')) {
    return html(401, makeLoginPage({ action: ask.action, failed: true }))
  }
  const id = makeSecret()
  world.sessions.set(id, { username: rider.username, csrf: makeSecret() })
  return redirect(ask.action, { 'set-cookie': `${COOKIE}=${id}; Path=/oauth; HttpOnly; SameSite=Lax` })
}

function findSession(world: World, request: Request): { username: string; csrf: string } | undefined {
  const cookies = (request.message.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const own = cookies.find((pair) => pair.startsWith(`${COOKIE}=`))
  return own ? world.sessions.get(own.slice(COOKIE.length + 1)) : undefined
}

/** Sends the browser to the redirect address; `state` goes back exactly as it came, escape for escape. */
function sendBack(request: Request, ask: Ask, answer: Record<string, string>): Reply {
  const parameters = Object.entries(answer).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  const state = request.rawQuery.split('&').find((pair) => pair.startsWith('state='))
  if (state !== undefined) parameters.push(state.replace(/[^\x21-\x7e]/g, escapeByte))
  const address = `${ask.redirectUri}${ask.redirectUri.includes('?') ? '&' : '?'}${parameters.join('&')}`
  return redirect(address.replace(/[^\x21-\x7e]+/gu, encodeURIComponent))
}

/** Node reads a request line byte by byte, so each sign here is one byte. */
function escapeByte(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).padStart(2, '0')}`
}
