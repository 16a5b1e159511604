import { createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { networkError } from '../../src/core/service/service-errors.ts'
import { TransientError } from '../../src/kit/errors.ts'
import { makeAgent } from '../../src/kit/http-agent.ts'
import { listen } from './listen.ts'

const LONG_MS = 60_000
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone'

/** How a proxy reacts to a request. The heads of requests are kept. */
type Behaviour = (socket: Socket, head: string) => unknown

async function openProxy(behave: Behaviour): Promise<{ url: string; origin: string; heads: string[] }> {
  const heads: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      const head = bytes.toString('latin1')
      if (/^[A-Z]+ /.test(head)) heads.push(head)
      behave(socket, head)
    })
  })
  const origin = `http://127.0.0.1:${await listen(server)}`
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: origin.replace('//', '//rider:proxy-secret@'), origin, heads }
}

const answer = (text: string): Behaviour => {
  return (socket) => socket.end(`HTTP/1.1 ${text}\r\n\r\n`)
}
const isTunnel = (head: string) => head.startsWith('CONNECT ')

async function request(proxy: string, origin: string, method: 'GET' | 'POST' = 'GET', connectMs = LONG_MS) {
  const agent = makeAgent({ http: proxy, https: proxy, none: '' }, { connectMs, pipelining: 0 })
  onTestFinished(() => agent.destroy())
  const options = { origin, path: '/rides?from=1', method, headers: { authorization: 'Bearer token' } }
  const { body } = await agent.request(options)
  return await body.text()
}

/** Returns the error message as the client of the service reports it. */
async function messageOf(failing: Promise<unknown>): Promise<string> {
  const error = await failing.catch((error: unknown) => error)
  if (error instanceof TransientError) return error.message
  const state = { origin: 'http://service.invalid', requestSent: true, answered: false }
  return networkError(error, 'ride', state).message
}

const LOST = 'the connection was lost'
/** What a proxy does, and the message for a request to https and to http. */
const ODD: ReadonlyArray<[what: string, behave: Behaviour, onHttps: string, onHttp?: string]> = [
  ['closes without an answer', (socket) => socket.end(), 'closed the connection'],
  ['never answers', () => undefined, 'did not answer within 0.2 s'],
  [
    'refuses tunnels with 403, and the plain request as well',
    (socket, head) => (isTunnel(head) ? answer('403 Forbidden')(socket, head) : socket.destroy()),
    'refused a tunnel (HTTP 403)',
    LOST,
  ],
  ['requires a password', answer('407 Required'), 'requires a user and a password'],
  ['does not speak HTTP', (socket) => socket.end('220 mail ready\r\n'), 'cannot be used'],
  [
    'resets the tunnel at its first byte',
    (socket, head) => (isTunnel(head) ? socket.write('HTTP/1.1 200 OK\r\n\r\n') : socket.resetAndDestroy()),
    LOST,
  ],
]

it.each(ODD)(
  'a proxy that %s is asked once and reported without its password',
  async (what, behave, onHttps, onHttp = onHttps) => {
    for (const [protocol, says] of Object.entries({ https: onHttps, http: onHttp })) {
      const proxy = await openProxy(behave)
      const limitMs = what === 'never answers' ? 200 : LONG_MS
      const message = await messageOf(request(proxy.url, `${protocol}://service.invalid`, 'GET', limitMs))
      expect(message).toContain(says === LOST ? LOST : `the proxy ${proxy.origin} ${says}`)
      expect(message).not.toMatch(/proxy-secret|cmlkZXI6/)
      // A connection lost behind the tunnel is tried once more without a tunnel.
      expect(proxy.heads).toHaveLength(protocol === 'http' && says === LOST ? 2 : 1)
      expect(proxy.heads[0]).toMatch(/^CONNECT service\.invalid:/)
    }
  },
)

it.each(['GET', 'POST'] as const)(
  'a proxy without tunnels gets a %s request to an http URL, with its password',
  async (method) => {
    const proxy = await openProxy((socket, head) =>
      isTunnel(head) ? answer('405 Method Not Allowed')(socket, head) : socket.end(ANSWER),
    )
    expect(await request(proxy.url, 'http://service.invalid', method)).toBe('done')
    const [tunnel, plain, ...more] = proxy.heads
    expect(tunnel).toMatch(/^CONNECT service\.invalid:80 /)
    expect(plain).toMatch(new RegExp(`^${method} http://service\\.invalid/rides\\?from=1 HTTP/1\\.1\r\n`))
    expect(plain).toMatch(/^proxy-authorization: Basic cmlkZXI6/im)
    expect(plain).toMatch(/^host: service\.invalid\r$/im)
    expect(more).toEqual([])
  },
)
