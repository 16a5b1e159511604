import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { networkError } from '../../src/core/service/service-errors.ts'
import { TransientError } from '../../src/kit/errors.ts'
import { sendRequest } from '../../src/kit/http/send-request.ts'
import { makeAgent } from '../../src/kit/http-agent.ts'
import { findFreePort, listen } from './listen.ts'

/** The longest that a tunnel may take: one that is waited for, and one that comes, ms. */
const SHORT = 200
const LONG = 60_000
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone'

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** What a proxy does with a request; the head of each is kept. */
type Behaviour = (socket: Socket, head: string) => void

async function openProxy(behave: Behaviour): Promise<{ url: string; heads: string[] }> {
  const heads: string[] = []
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      const head = bytes.toString('latin1')
      if (/^[A-Z]+ /.test(head)) heads.push(head)
      behave(socket, head)
    })
  })
  const port = await listen(server)
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { url: `http://rider:proxy-secret@127.0.0.1:${port}`, heads }
}

const answer =
  (text: string): Behaviour =>
  (socket) =>
    void socket.end(`HTTP/1.1 ${text}\r\n\r\n`)
const isTunnel = (head: string) => head.startsWith('CONNECT ')

/** Opens the tunnel, and closes it at the first byte that comes through. */
const resetAfterTunnel: Behaviour = (socket, head) =>
  isTunnel(head) ? void socket.write('HTTP/1.1 200 OK\r\n\r\n') : void socket.resetAndDestroy()

/** Knows plain requests only, and answers them with what they were. */
const withoutTunnels: Behaviour = (socket, head) =>
  isTunnel(head) ? void socket.end('HTTP/1.1 405 Method Not Allowed\r\n\r\n') : void socket.end(ANSWER)

const closes: Behaviour = (socket) => void socket.end()

async function request(proxy: string, origin: string, method: 'GET' | 'POST' = 'GET', connectMs = LONG) {
  const agent = makeAgent({ http: proxy, https: proxy, none: '' }, { connectMs, pipelining: 0 })
  closers.push(() => agent.destroy())
  const headers = { authorization: 'Bearer token' }
  const answer = await agent.request({ origin, path: '/rides?from=1', method, headers })
  return await answer.body.text()
}

/** The message as the client of the service has it. */
function messageOf(error: unknown): string {
  if (error instanceof TransientError) return error.message
  return networkError(error, 'ride', { origin: 'http://service.invalid', requestSent: true, answered: false })
    .message
}

describe.each(['https', 'http'])('a proxy on the way to an address of %s', (protocol) => {
  const origin = `${protocol}://service.invalid`

  it.each<[string, Behaviour, { says: string; limit?: number; onHttp?: string; headsOnHttp?: number }]>([
    ['that closes without an answer', closes, { says: 'closed the connection' }],
    ['that never answers', () => undefined, { says: 'did not answer within 0.2 s', limit: SHORT }],
    [
      'that refuses tunnels with 403, and the request too',
      (socket, head) => (isTunnel(head) ? answer('403 Forbidden')(socket, head) : void socket.destroy()),
      { says: 'refused a tunnel (HTTP 403)', onHttp: 'the connection was lost', headsOnHttp: 2 },
    ],
    [
      'that wants a password',
      answer('407 Proxy Authentication Required'),
      { says: 'wants a user and a password' },
    ],
    ['that speaks no HTTP', (socket) => void socket.end('220 mail ready\r\n'), { says: 'cannot be used' }],
    ['that resets the tunnel', resetAfterTunnel, { says: 'the connection was lost', headsOnHttp: 2 }],
  ])('%s is asked once and named without its password', async (_what, behave, wanted) => {
    const proxy = await openProxy(behave)
    const error = await request(proxy.url, origin, 'GET', wanted.limit).catch((error: unknown) => error)
    const message = messageOf(error)
    const says = (protocol === 'http' && wanted.onHttp) || wanted.says
    expect(message).toContain(says)
    if (!says.startsWith('the connection'))
      expect(message).toContain(`the proxy ${new URL(proxy.url).origin} `)
    expect(message).not.toMatch(/proxy-secret|cmlkZXI6/)
    expect(proxy.heads).toHaveLength((protocol === 'http' && wanted.headsOnHttp) || 1)
    expect(proxy.heads[0]).toMatch(/^CONNECT service\.invalid:/)
  })

  it('that is missing is named', async () => {
    const proxy = `http://rider:proxy-secret@127.0.0.1:${await findFreePort()}`
    const error = await request(proxy, origin).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'proxy_failed', requestSent: false })
    const message = messageOf(error)
    expect(message).toContain(`the proxy ${new URL(proxy).origin} cannot be used (ECONNREFUSED)`)
  })

  it('that closes the connection is named for a message too', async () => {
    const proxy = await openProxy(closes)
    const dispatcher = makeAgent({ http: proxy.url, https: undefined, none: '' }, { connectMs: LONG })
    closers.push(() => dispatcher.destroy())
    const { signal } = new AbortController()
    const receiver = { url: `${origin}/secret-topic`, method: 'POST', body: 'text' } as const
    const { failure, ms } = await sendRequest(receiver, { signal, dispatcher })
    expect(failure).toContain(`the proxy ${new URL(proxy.url).origin} closed the connection`)
    expect(failure).not.toMatch(/secret/)
    expect(proxy.heads).toHaveLength(1)
    expect(ms).toBeLessThan(10_000)
  })
})

describe('a proxy without tunnels', () => {
  it.each(['GET', 'POST'] as const)('gets a %s to an http address, with its password', async (method) => {
    const proxy = await openProxy(withoutTunnels)
    expect(await request(proxy.url, 'http://service.invalid', method)).toBe('done')
    const [tunnel, plain] = proxy.heads
    expect(tunnel).toMatch(/^CONNECT service\.invalid:80 /)
    expect(plain).toMatch(new RegExp(`^${method} http://service\\.invalid/rides\\?from=1 HTTP/1\\.1\r\n`))
    expect(plain).toMatch(/^proxy-authorization: Basic cmlkZXI6/im)
    expect(plain).toMatch(/^host: service\.invalid\r$/im)
    expect(proxy.heads).toHaveLength(2)
  })
})
