import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SECOND } from '../../kit/durations.ts'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { parseAnswer } from './answer.ts'

export type RedirectListener = {
  redirectUri: string
  /** Resolves with the first answer that carries `state`; others get a page that says so and change nothing. */
  answer(state: string, signal: AbortSignal): Promise<{ code: string; state: string | undefined }>
  close(): Promise<void>
}

/** Long enough for the page that says how the login ended to reach the browser. */
const LAST_PAGE_MS = 1 * SECOND

/** Opens a listener on loopback for the browser's redirect; port 0 takes a free one (RFC 8252, section 7.3). */
export async function openRedirectListener(options: {
  host: string
  port: number
}): Promise<RedirectListener> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(options.port, error)))
    server.listen(options.port, options.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    redirectUri: `http://127.0.0.1:${port}/callback`,
    answer: (state, signal) =>
      new Promise((resolve, reject) => {
        const giveUp = () =>
          reject(
            isTimeout(signal)
              ? new ConfigError('login_timeout', 'nobody signed in; run: musette login --browser')
              : signal.reason,
          )
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
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // A browser opens connections ahead of need; one without a request does not count as idle.
        setTimeout(() => server.closeAllConnections(), LAST_PAGE_MS).unref()
      }),
  }
}

function cannotListen(port: number, error: Error): ConfigError {
  const message = `port ${port} on this machine cannot be listened on (${errorCode(error)}); end the program that has it, or run: musette login --paste`
  return new ConfigError('port_unusable', message, { cause: error })
}

function isTimeout(signal: AbortSignal): boolean {
  return signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
}

function sendPage(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    connection: 'close',
    'referrer-policy': 'no-referrer',
  })
  response.end(`<!doctype html><title>musette</title><p>${sentence}</p>`)
}
