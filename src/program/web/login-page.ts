import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { escapeMarkup } from '../../kit/text.ts'
import type { Auth } from './auth.ts'
import { contentPolicy } from './security-headers.ts'

/** Maximum size of the form, bytes: enough for a token and a path. */
const FORM_BYTES = 4_096

const STYLE = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:24rem;margin:15vh auto;padding:0 1rem}
h1{font-size:1.5rem}label,input,button{display:block;font:inherit}input{box-sizing:border-box;width:100%;margin:.25rem 0 1rem;padding:.5rem}
button{padding:.5rem 1.5rem}[role=alert]{border-left:.25rem solid #c33;padding-left:.75rem}code{overflow-wrap:anywhere}
[hidden]{display:none}`

/** Stores the session's key for the scripts of this origin, then opens the next page. */
const SCRIPT = `const { name, key, next } = document.querySelector('[data-key]').dataset
localStorage.setItem(name, key)
location.replace(next)`

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** The page's content security policy: one style sheet, one script, and forms to this site. */
const POLICY = contentPolicy({
  'style-src': [hashOf(STYLE)],
  'script-src': [hashOf(SCRIPT)],
  'form-action': ["'self'"],
})

/** Adds `/login`, a form that exchanges the token for a session, and `/logout`, which ends the session; both below `root`. */
export async function registerLogin(server: FastifyInstance, auth: Auth, root: string): Promise<void> {
  await server.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_BYTES },
      async (_request: unknown, text: string) => new URLSearchParams(text),
    )
    const page = { config: { public: true }, helmet: { contentSecurityPolicy: POLICY } }

    scope.get('/login', page, async (request, reply) => {
      const next = ownPath((request.query as { next?: unknown }).next)
      return sendPage(reply, renderLogin(next, root) + (request.signedIn ? renderLogout(next, root) : ''))
    })

    scope.post('/login', page, async (request, reply) => {
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      const next = ownPath(form.get('next'))
      const verdict = await auth.checkToken(request, form.get('token') ?? '')
      if (verdict.kind === 'authenticated') {
        return sendPage(reply, renderSignedIn(auth.beginSession(request, reply), next, root))
      }
      if (verdict.kind !== 'rate_limited')
        return sendPage(reply.code(401), renderLogin(next, root, 'This is not the token.'))
      const { retryAfterS } = verdict
      const problem = `Too many wrong tokens came from this address. Try again in ${retryAfterS} s.`
      return sendPage(
        reply.code(429).header('retry-after', String(retryAfterS)),
        renderLogin(next, root, problem),
      )
    })

    scope.post('/logout', { config: { public: true } }, async (request, reply) => {
      await auth.endSession(request, reply)
      return reply.redirect('/login', 303)
    })
  })
}

function sendPage(reply: FastifyReply, content: string) {
  return reply
    .type('text/html; charset=utf-8')
    .send(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>musette: sign in</title><style>${STYLE}</style></head><body><main><h1>musette</h1>${content}</main></body></html>`)
}

/** Renders the form; `next` is the path to open after the login, `problem` the reason why the last attempt failed. */
function renderLogin(next: string, root: string, problem?: string): string {
  const alert = problem ? `<p role="alert">${problem}</p>` : ''
  return `${alert}<form method="post" action="${root}/login"><input type="hidden" name="next" value="${escapeMarkup(next)}">
<input type="text" name="username" value="musette" autocomplete="username" hidden>
<label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Sign in</button></form><p>It is the value of <code>MUSETTE_HTTP_TOKEN</code> on the machine where musette runs.</p>`
}

/** Renders the answer to the right token; `key` is the session's key. */
function renderSignedIn(key: string, next: string, root: string): string {
  const [name, path] = [`musette-key ${root}`, root + next].map(escapeMarkup)
  return `<p data-name="${name}" data-key="${key}" data-next="${path}">You are signed in. If this page stays open, the browser blocks scripts
or storage for musette, which needs both.</p><script>${SCRIPT}</script>`
}

function renderLogout(next: string, root: string): string {
  return `<p>You are signed in. <a href="${root}${escapeMarkup(next)}">Continue</a></p>
<form method="post" action="${root}/logout"><button>Sign out</button></form>`
}

/** Returns `next` if it is a path of this site, otherwise `/`, because a login must not lead to another site. */
function ownPath(next: unknown): string {
  return typeof next === 'string' && /^\/(?![/\\])[\w/.~%-]*(\?[\w/.~%=&-]*)?$/.test(next) ? next : '/'
}
