import type { Socket } from 'node:net'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ServiceOptions } from '../../../src/core/service/service.ts'
import { errorOf, openRealAccount } from './open-test-service.ts'
import { openHttpServer, openRawServer } from './servers.ts'

const SHORT = { connectMs: 300, headersMs: 300, bodyIdleMs: 300, totalMs: 5_000, tokenMs: 600 }
const BODY = JSON.stringify({ success: true, activities: [{ path: 'ab12' }] })
/** Longer than the first buffer for a body of unknown size. */
const LONG = BODY + ' '.repeat(400_000)
const RANGE = { from: new Date(0), to: new Date(1_000) }
const SMALL = { maxBodyBytes: 1_000_000 }

const headOf = (...headers: string[]) =>
  ['HTTP/1.1 200 OK', 'Content-Type: application/json', 'Connection: close', ...headers, '', ''].join('\r\n')
const send =
  (headers: string[], body: string | Buffer = BODY) =>
  (socket: Socket) =>
    void socket.end(Buffer.concat([Buffer.from(headOf(...headers)), Buffer.from(body)]))

/** Opens an account whose requests a real server answers with bytes. */
async function openRaw(answer: (socket: Socket, head: string) => void, options?: Partial<ServiceOptions>) {
  return openRealAccount(await openRawServer(answer), { timeouts: SHORT, ...options })
}

const timeout = { name: 'TransientError', code: 'timeout' }
const HASTY = { timeouts: { ...SHORT, headersMs: 60, bodyIdleMs: 60 } }
const HALF = gzipSync(BODY).subarray(0, -12)
const BOMB = gzipSync(Buffer.alloc(5_000_000, 32))

describe('a response that HTTP/1.1 allows', () => {
  const twice = [`Content-Length: ${BODY.length}`, `content-length:  ${BODY.length}`]
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
  /** Sends bytes in pieces that the client receives separately. */
  const apart = (pieces: string[]) => (socket: Socket) =>
    void pieces.reduce(
      (before, piece) =>
        before.then(() => new Promise((sent) => setTimeout(() => socket.write(piece, sent), 20))),
      Promise.resolve() as Promise<unknown>,
    )
  it.each<[string, (socket: Socket) => void]>([
    ['after a 100 Continue', (socket) => void socket.end(interim + headOf(twice[0] ?? '') + BODY)],
    [
      'after several interim responses, in pieces',
      apart([
        interim.slice(0, 9),
        `${interim.slice(9)}${interim}HTT`,
        `${headOf(twice[0] ?? '').slice(3)}${BODY}`,
      ]),
    ],
    [
      'after a 103',
      (socket) => void socket.end(`HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n${headOf()}${BODY}`),
    ],
    ['with its length in two headers', send(twice)],
    ['with its length twice in one header', send([`Content-Length: ${BODY.length}, ${BODY.length}`])],
  ])('is read: %s', async (_what, answer) => {
    const { account } = await openRaw(answer)
    expect((await account.listActivities(RANGE)).value.entries).toHaveLength(1)
  })

  it('with two different lengths is rejected', async () => {
    const { account } = await openRaw(send([`Content-Length: ${BODY.length}`, 'Content-Length: 1']))
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({ code: 'connection_lost' })
  })
})

describe('a response', () => {
  it.each<[string, (socket: Socket) => void, object, Partial<ServiceOptions>?]>([
    [
      'that stops in the middle of a chunk is reported as cut',
      send(['Transfer-Encoding: chunked'], '5\r\n{"suc\r\n'),
      { code: 'cut_answer' },
    ],
    [
      'whose gzip stops in the middle is reported as cut',
      send([`Content-Encoding: gzip`, `Content-Length: ${HALF.length}`], HALF),
      { code: 'cut_answer' },
    ],
    ['whose headers never come times out', () => undefined, timeout, HASTY],
    [
      'whose body stalls times out',
      (socket) => void socket.write(`${headOf('Content-Length: 500')}{"success"`),
      timeout,
      HASTY,
    ],
    [
      'that trickles in beyond the total deadline times out',
      (socket) => {
        socket.write(headOf('Content-Length: 500000'))
        const timer = setInterval(() => socket.write(' '), 20)
        socket.on('close', () => clearInterval(timer))
      },
      timeout,
      { timeouts: { ...SHORT, totalMs: 100 } },
    ],
    [
      'whose Content-Length exceeds the limit is rejected unread',
      (socket) => void socket.write(headOf('Content-Length: 5000000')),
      { name: 'UnexpectedResponseError', code: 'too_large' },
      SMALL,
    ],
    [
      'that is a small gzip bomb is rejected by its decoded size',
      send(['Content-Encoding: gzip'], BOMB),
      { code: 'too_large' },
      SMALL,
    ],
    ['in another encoding is rejected', send(['Content-Encoding: br'], 'x'), { code: 'unknown_encoding' }],
  ])('%s', async (_what, answer, expected, options) => {
    const { account } = await openRaw(answer, options)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject(expected)
    expect(BOMB.length).toBeLessThan(100_000)
  })

  it('that ends before its Content-Length is requested twice more; the last one counts', async () => {
    let requests = 0
    const { account, slept } = await openRaw((socket) => {
      requests += 1
      send([`Content-Length: ${BODY.length + (requests < 6 ? 50 : 0)}`])(socket)
    })
    const cut = { name: 'TransientError', code: 'cut_answer' }
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject(cut)
    expect([requests, slept]).toEqual([3, [500, 2_000]])
    expect((await account.listActivities(RANGE)).value.entries).toHaveLength(1)
    expect(requests).toBe(6)
  })

  it('is no longer awaited if the signal aborts, and not requested again', async () => {
    const stop = new AbortController()
    let requests = 0
    const { account } = await openRaw((socket) => {
      requests += 1
      socket.write(`${headOf('Content-Length: 500')}{`)
      stop.abort()
    })
    expect(await errorOf(account.listActivities(RANGE, stop.signal))).toBe(stop.signal.reason)
    expect(requests).toBe(1)
  })

  it.each([
    ['short', gzipSync(BODY)],
    ['of two members, the last one small', Buffer.concat([gzipSync(LONG), gzipSync(' ')])],
    ['of one piece', gzipSync(LONG)],
  ])('in gzip is decoded regardless of the size in its last bytes: %s', async (_, sent) => {
    let head = ''
    const { account } = await openRaw((socket, received) => {
      head = received
      send(['Content-Encoding: gzip', 'Date: Wed, 01 May 2024 10:00:00 GMT'], sent)(socket)
    })
    const { body, gzipped, serviceTime } = await account.fetchActivity('a', { samples: false })
    expect(/^accept-encoding: (.*)\r$/im.exec(head)?.[1]).toBe('gzip')
    expect([body.equals(gunzipSync(sent)), gzipped?.equals(sent)]).toEqual([true, true])
    expect(serviceTime).toEqual(new Date('2024-05-01T10:00:00Z'))
  })
})

describe('a refresh over a real connection', () => {
  it('fails within its own deadline if no response comes', async () => {
    const { account, vault } = await openRaw((socket, head) => {
      if (!head.startsWith('POST')) socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n')
    })
    expect(await errorOf(account.fetchTrainingInfo({}))).toMatchObject({ code: 'refresh_pending' })
    expect(vault.rows.get(1)).toMatchObject({ needsLogin: false, failures: 1 })
  })

  it('opens a new connection for each POST', async () => {
    const ports: Array<number | undefined> = []
    const server = await openHttpServer((request, response) => {
      ports.push(request.socket.remotePort)
      request.resume()
      response.end('{"access_token":"a","refresh_token":"r"}')
    })
    const { service } = openRealAccount(server)
    const client = { baseUrl: server.origin, clientId: 'c', clientSecret: 's' }
    for (const username of ['u', 'v'])
      await service.requestLogin(client, { type: 'password', username, password: 'p' })
    expect(new Set(ports).size).toBe(2)
  })
})
