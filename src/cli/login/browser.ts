import { createInterface } from 'node:readline/promises'
import type { House } from '../../daemon/house.ts'
import { beginBrowserLogin } from '../../daemon/sign-in.ts'
import { MINUTE } from '../../kit/durations.ts'
import { ConfigError } from '../../kit/errors.ts'
import type { Context } from '../context.ts'
import { parseAnswer } from './answer.ts'
import { openRedirectListener } from './redirect.ts'

/** Long enough to find a password manager and read the consent screen. */
const WAIT_MS = 10 * MINUTE

type Input = { name: string; paste?: boolean; clientId?: string; clientSecret?: string; redirectUri?: string }

/** Signs in by the authorization code flow: over a listener on loopback, or by pasting the address the browser ended at. */
export function loginInBrowser(context: Context, house: House, input: Input) {
  return input.paste ? loginByPaste(context, house, input) : loginByRedirect(context, house, input)
}

async function loginByRedirect(context: Context, house: House, input: Input) {
  const listener = await openRedirectListener(addressOf(input.redirectUri))
  try {
    const redirectUri = input.redirectUri ?? listener.redirectUri
    const login = await beginBrowserLogin(house, {
      name: input.name,
      client: clientOf(house, input),
      redirectUri,
      signal: context.signal,
    })
    context.note(
      'Open this address in a browser on this machine, and sign in there (ten minutes; Ctrl-C ends it):',
    )
    context.print(login.authorizeUrl)
    context.note(
      `If the service shows an error there, it may not know the address ${redirectUri}; --redirect-uri takes a registered one.`,
    )
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(WAIT_MS)])
    return await login.finish(await listener.answer(login.state, signal), context.signal)
  } finally {
    await listener.close()
  }
}

async function loginByPaste(context: Context, house: House, input: Input) {
  // Nothing listens there: the browser shows an error page, and its address bar holds the answer.
  const redirectUri = input.redirectUri ?? 'http://127.0.0.1:8976/callback'
  const login = await beginBrowserLogin(house, {
    name: input.name,
    client: clientOf(house, input),
    redirectUri,
    signal: context.signal,
  })
  context.note('Open this address in a browser on any machine, and sign in there:')
  context.print(login.authorizeUrl)
  context.note('The browser ends at an address that does not open. Paste that address here:')
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: false,
    signal: context.signal,
  })
  try {
    for await (const line of lines) {
      if (line.trim() !== '') return await login.finish(parseAnswer(line.trim()), context.signal)
    }
  } finally {
    lines.close()
  }
  context.signal.throwIfAborted()
  // Ctrl-D: on a terminal nobody forgot to pipe the address in.
  if (process.stdin.isTTY) throw new DOMException('the prompt was cancelled', 'AbortError')
  throw new ConfigError('no_answer', 'nothing was pasted; run: musette login --browser --paste')
}

function clientOf(house: House, input: Input) {
  const { service } = house.config
  return {
    clientId: input.clientId ?? service.clientId,
    clientSecret: input.clientSecret ?? service.clientSecret,
  }
}

function addressOf(redirectUri: string | undefined): { host: string; port: number } {
  if (redirectUri === undefined) return { host: '127.0.0.1', port: 0 }
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined
  if (!url || !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)) {
    throw new ConfigError('not_loopback', 'the redirect address is not on this machine; add --paste')
  }
  if (url.protocol !== 'http:' || url.port === '0') {
    const message =
      'the redirect address must be like http://127.0.0.1:8976/callback; correct it, or add --paste'
    throw new ConfigError('bad_redirect_uri', message)
  }
  return { host: url.hostname.replace(/[[\]]/g, ''), port: Number(url.port || 80) }
}
