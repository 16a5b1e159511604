import { createHash } from 'node:crypto'
import { policy } from './headers.ts'

/** `next` is a path of this site; `problem` is what was wrong with the last attempt. */
export type LoginPage = { next: string; admitted?: boolean; problem?: 'wrong' | 'early' }

const STYLE = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:24rem;margin:15vh auto;padding:0 1rem}
h1{font-size:1.5rem}label,input,button{display:block;font:inherit}input{box-sizing:border-box;width:100%;margin:.25rem 0 1rem;padding:.5rem}
button{padding:.5rem 1.5rem}[role=alert]{border-left:.25rem solid #c33;padding-left:.75rem}code{overflow-wrap:anywhere}`

const PROBLEMS: Readonly<Record<NonNullable<LoginPage['problem']>, string>> = {
  wrong: 'This is not the token.',
  early: 'A wrong token was given a moment ago. Try again now.',
}

/** Renders the login page, without scripts; who is signed in already is offered the way out. */
export function renderLogin(page: LoginPage): string {
  const problem = page.problem ? `<p role="alert">${PROBLEMS[page.problem]}</p>` : ''
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>musette: sign in</title><style>${STYLE}</style></head><body><main><h1>musette</h1>${problem}${page.admitted ? wayOut(page) : form(page)}</main></body></html>`
}

/** The page's own policy: its one style sheet, and forms to this site. */
export function makeLoginPolicy(): string {
  const hash = createHash('sha256').update(STYLE).digest('base64')
  return policy({ 'style-src': `'sha256-${hash}'`, 'form-action': "'self'" })
}

function form({ next }: LoginPage): string {
  return `<form method="post" action="/login"><input type="hidden" name="next" value="${escapeHtml(next)}">
<input type="text" name="username" value="musette" autocomplete="username" hidden>
<label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Sign in</button></form><p>It is the value of <code>MUSETTE_HTTP_TOKEN</code> on the machine where musette runs.</p>`
}

function wayOut({ next }: LoginPage): string {
  return `<p>You are signed in. <a href="${escapeHtml(next)}">Go on</a></p>
<form method="post" action="/logout"><button>Sign out</button></form>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
