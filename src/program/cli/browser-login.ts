import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline/promises'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { isLoopback } from '../../kit/loopback.ts'
import { type JoinedSignal, joinSignals, MINUTE, SECOND } from '../../kit/time.ts'
import { beginBrowserLogin } from '../app/sign-in.ts'
import type { Context } from '../frame/context.ts'

/** How long a login may take, ms: long enough to find a password manager and read the consent screen. */
const WAIT_MS = 10 * MINUTE

type LoginApp = Parameters<typeof beginBrowserLogin>[0]

type Input = {
  name: string
  sameRider?: boolean
  paste?: boolean
  clientId?: string
  clientSecret?: string
  redirectUri?: string
}

/**
 * Signs in by the authorization code flow (service document, endpoint 2). The browser's redirect reaches a listener on loopback; with
 * `paste`, the person pastes the redirect address. Throws ConfigError if the login is refused, times out or is not answered.
 */
export function loginInBrowser(context: Context, app: LoginApp, input: Input) {
  return input.paste ? loginByPaste(context, app, input) : loginByRedirect(context, app, input)
}

async function loginByRedirect(context: Context, app: LoginApp, input: Input) {
  const listener = await openRedirectListener(addressOf(input.redirectUri))
  const within = joinSignals([context.signal], WAIT_MS)
  try {
    const redirectUri = input.redirectUri ?? listener.redirectUri
    const login = await beginLogin(context, app, { ...input, redirectUri })
    context.note(
      'Open this address in a browser on this machine, and sign in there (within ten minutes; Ctrl-C cancels):',
    )
    context.print(login.authorizeUrl)
    context.note(
      `If the service shows an error there, it may not know the address ${redirectUri}; give a registered address with --redirect-uri.`,
    )
    return await login.finish(await listener.answer(login.state, within), context.signal)
  } finally {
    within.clear()
    await listener.close()
  }
}

async function loginByPaste(context: Context, app: LoginApp, input: Input) {
  // No program need listen at this address: the browser shows an error page, and its address bar shows the code.
  const redirectUri = input.redirectUri ?? 'http://127.0.0.1:8976/callback'
  const login = await beginLogin(context, app, { ...input, redirectUri })
  context.note('Open this address in a browser on any machine, and sign in there:')
  context.print(login.authorizeUrl)
  context.note('After that, the browser shows an address that it cannot open. Paste that address here:')
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
  // Ctrl-D at a terminal cancels; an empty pipe is an error.
  if (process.stdin.isTTY) throw new DOMException('the prompt was cancelled', 'AbortError')
  throw new ConfigError('no_answer', 'no address was pasted; run: musette login --browser --paste')
}

function beginLogin({ signal }: Context, app: LoginApp, input: Input & { redirectUri: string }) {
  const { service } = app.config
  const { clientId = service.clientId, clientSecret = service.clientSecret } = input
  return beginBrowserLogin(app, { ...input, client: { clientId, clientSecret }, signal })
}

function addressOf(redirectUri: string | undefined): { host: string; port: number } {
  if (redirectUri === undefined) return { host: '127.0.0.1', port: 0 }
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined
  if (!url || !isLoopback(url.hostname)) {
    throw new ConfigError('not_loopback', 'the redirect address is not on this machine; add --paste')
  }
  if (url.protocol !== 'http:' || url.port === '0') {
    const message =
      'the redirect address must be like http://127.0.0.1:8976/callback; correct it, or add --paste'
    throw new ConfigError('bad_redirect_uri', message)
  }
  return { host: url.hostname.replace(/[[\]]/g, ''), port: Number(url.port || 80) }
}

/** How long connections stay open after the login, ms, so that the browser can load the last page. */
const LAST_PAGE_MS = 1 * SECOND

/** Opens a loopback listener for the browser's redirect; port 0 selects a free port (RFC 8252, section 7.3). */
async function openRedirectListener(options: { host: string; port: number }) {
  const server = createServer()
  await once(server.listen(options.port, options.host), 'listening').catch((error) => {
    throw cannotListen(options.port, error)
  })
  const { port } = server.address() as AddressInfo
  return {
    redirectUri: `http://127.0.0.1:${port}/callback`,
    /** Resolves with the first answer that has this `state`; other requests get an error page and change nothing. */
    answer: (state: string, { signal, isOver }: JoinedSignal) =>
      new Promise<ReturnType<typeof parseAnswer>>((resolve, reject) => {
        const timeout = 'no sign-in within ten minutes; run: musette login --browser'
        const giveUp = () => reject(isOver() ? new ConfigError('login_timeout', timeout) : signal.reason)
        if (signal.aborted) giveUp()
        signal.addEventListener('abort', giveUp, { once: true })
        server.on('request', (request, response) => {
          const address = `http://127.0.0.1:${port}${request.url ?? '/'}`
          if (!URL.canParse(address)) return sendPage(response, 400, 'This is not an address.')
          const url = new URL(address)
          if (url.pathname === '/favicon.ico') return sendPage(response, 404, 'Nothing here.')
          if (url.searchParams.get('state') !== state)
            return sendPage(response, 400, 'This is not the login that is waiting.')
          try {
            resolve(parseAnswer(url.href))
            sendPage(response, 200, 'Signed in. You can close this page.')
          } catch (error) {
            sendPage(response, 200, 'Access was not granted. You can close this page.')
            reject(error)
          }
        })
      }),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // A browser opens spare connections; Node does not count a connection without a request as idle.
        setTimeout(() => server.closeAllConnections(), LAST_PAGE_MS).unref()
      }),
  }
}

function cannotListen(port: number, error: Error): ConfigError {
  const message = `cannot listen on port ${port} of this machine (${errorCode(error)}); stop the program that uses it, or run: musette login --paste`
  return new ConfigError('port_unusable', message, { cause: error })
}

function sendPage(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    connection: 'close',
    'referrer-policy': 'no-referrer',
  })
  response.end(`<!doctype html><title>musette</title><p>${sentence}</p>`)
}

/** Parses the redirect address. Throws ConfigError `login_refused` if the service refused access, and `no_code` if the address has no code. */
function parseAnswer(address: string): { code: string; state: string | undefined } {
  const query = URL.canParse(address) ? new URL(address).searchParams : new URLSearchParams()
  const refusal = query.get('error')
  if (refusal)
    throw new ConfigError('login_refused', `the service did not grant access (${refusal.slice(0, 60)})`)
  const code = query.get('code')
  if (!code)
    throw new ConfigError(
      'no_code',
      'that address contains no code; paste the whole address from the address bar of the browser',
    )
  return { code, state: query.get('state') ?? undefined }
}
