import { escapeMarkup } from '../../kit/text.ts'
import { html, type Reply, redirect } from '../http/reply.ts'
import { type Request, readForm } from '../http/request.ts'
import type { World } from '../world.ts'
import { issueCode, makeSecret } from './grant-book.ts'
import { sameText } from './token.ts'

const COOKIE = 'sandbox_session'

/** Answers GET /oauth/authorize with the login page, or with the consent screen if the rider is signed in. */
export function answerAuthorize(world: World, request: Request): Reply {
  const query = checkQuery(world, request)
  if (!('client' in query)) return query
  const session = findSession(world, request)
  if (!session) return html(200, loginPage({ action: query.action, failed: false }))
  return html(200, consentPage({ action: query.action, application: query.client.name, ...session }))
}

/** Answers the two forms of the authorize pages: sign-in, and approve or deny. */
export async function answerAuthorizeForm(world: World, request: Request): Promise<Reply> {
  const query = checkQuery(world, request)
  if (!('client' in query)) return query
  const form = await readForm(request)
  if (form.get('step') === 'login') return signIn(world, query.action, form)
  const session = findSession(world, request)
  if (!session) return html(200, loginPage({ action: query.action, failed: false }))
  if (!sameText(session.csrf, form.get('csrf') ?? '')) {
    return html(403, refusalPage('The form is stale; go back and try again.'))
  }
  if (form.get('decision') !== 'approve')
    return sendBack(request, query.redirectUri, { error: 'access_denied' })
  const code = issueCode(world.grants, {
    username: session.username,
    clientId: query.client.id,
    redirectUri: query.redirectUri,
    nowMs: world.now().getTime(),
  })
  return sendBack(request, query.redirectUri, { code })
}

/** Checks the query; `action` is the authorize address, to which the forms are sent. An unregistered client or redirect address gets a page, never a redirect. */
function checkQuery(world: World, request: Request) {
  const client = world.clients.find(({ id }) => id === request.query.get('client_id'))
  if (!client?.grants.includes('authorization_code')) {
    return html(400, refusalPage('The application is not known.'))
  }
  const redirectUri = request.query.get('redirect_uri') ?? ''
  if (!client.mayRedirect(redirectUri)) {
    return html(400, refusalPage('The redirect address is not registered for this application.'))
  }
  if (request.query.get('response_type') !== 'code') {
    return sendBack(request, redirectUri, { error: 'unsupported_response_type' })
  }
  return { client, redirectUri, action: `${request.path}?${request.rawQuery}` }
}

function signIn(world: World, action: string, form: URLSearchParams): Reply {
  const rider = world.riders.get(form.get('username') ?? '')
  if (!rider || !sameText(rider.password, form.get('password') ?? '')) {
    return html(401, loginPage({ action, failed: true }))
  }
  const id = makeSecret()
  world.sessions.set(id, { username: rider.username, csrf: makeSecret() })
  return redirect(action, { 'set-cookie': `${COOKIE}=${id}; Path=/oauth; HttpOnly; SameSite=Lax` })
}

function findSession(world: World, request: Request): { username: string; csrf: string } | undefined {
  const cookies = (request.message.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const own = cookies.find((pair) => pair.startsWith(`${COOKIE}=`))
  return own ? world.sessions.get(own.slice(COOKIE.length + 1)) : undefined
}

/** Redirects the browser; `state` is returned byte for byte. */
function sendBack(request: Request, redirectUri: string, answer: Record<string, string>): Reply {
  const parameters = Object.entries(answer).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  const state = request.rawQuery.split('&').find((pair) => pair.startsWith('state='))
  // Node reads a request line as bytes, so each character here is one byte.
  if (state !== undefined)
    parameters.push(
      state.replace(/[^\x21-\x7e]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`),
    )
  const address = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters.join('&')}`
  return redirect(address.replace(/[^\x21-\x7e]+/gu, encodeURIComponent))
}

/** Returns the page on which the rider signs in; its form is sent to the same address. */
function loginPage(input: { action: string; failed: boolean }): string {
  const note = input.failed ? '<p role="alert">Wrong username or password.</p>' : ''
  return page(
    'Sign in',
    `${note}<form method="post" action="${escapeMarkup(input.action)}">
<input type="hidden" name="step" value="login">
<label>Username <input name="username" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Sign in</button>
</form>`,
  )
}

/** Returns the page that names the application and the data that it asks for (GET /oauth/authorize). */
function consentPage(input: { action: string; application: string; username: string; csrf: string }): string {
  return page(
    `Allow ${input.application}?`,
    `<p><strong>${escapeMarkup(input.application)}</strong> asks for access to the data of ${escapeMarkup(input.username)}:</p>
<ul><li>Activities</li><li>Workouts</li><li>Performance data</li></ul>
<form method="post" action="${escapeMarkup(input.action)}">
<input type="hidden" name="step" value="consent">
<input type="hidden" name="csrf" value="${escapeMarkup(input.csrf)}">
<button type="submit" name="decision" value="approve">Approve</button>
<button type="submit" name="decision" value="deny">Deny</button>
</form>`,
  )
}

function refusalPage(reason: string): string {
  return page('This request cannot be served', `<p>${escapeMarkup(reason)}</p>`)
}

function page(title: string, body: string): string {
  const head = `<meta charset="utf-8"><title>${escapeMarkup(title)}</title>`
  return `<!doctype html>\n<html lang="en"><head>${head}</head><body><h1>${escapeMarkup(title)}</h1>\n${body}\n</body></html>\n`
}
