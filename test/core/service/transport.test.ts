import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { openService, type Service, type ServiceOptions } from '../../../src/core/service/service.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import { errorOf, makeTestClock, makeTestLog } from './open-test-service.ts'
import { openHttpServer, openRawServer, type TestServer } from './servers.ts'

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const SHORT = { connectMs: 300, headersMs: 300, bodyIdleMs: 300, totalMs: 5_000, tokenMs: 600 }

/** The client on real connections; its pauses between tries take no time. */
function openReal(server: TestServer, options: Partial<ServiceOptions> = {}) {
  const { log, lines } = makeTestLog()
  const clock = makeTestClock()
  const vault = makeMemoryVault({ 1: makeCredentials(clock.now(), { origin: server.origin }) })
  const service: Service = openService(
    { vault, log, now: clock.now, sleep: clock.sleep, random: () => 0 },
    { concurrency: 4, requestsPerMinute: 60_000, userAgent: 'musette/test', timeouts: SHORT, ...options },
  )
  closers.push(() => server.close())
  closers.push(() => service.close())
  const account = service.forAccount({ accountId: 1, name: 'default', baseUrl: server.origin })
  return { service, account, vault, lines, slept: clock.slept }
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const BODY = JSON.stringify({ success: true, activities: [{ path: 'ab12' }] })
/** Longer than what a body of unknown size is decoded into at once. */
const LONG = BODY + ' '.repeat(400_000)
const RANGE = { from: new Date(0), to: new Date(1_000) }

describe('answers that are cut or slow', () => {
  it('detects an answer that ends before its Content-Length, and retries twice', async () => {
    let requests = 0
    const server = await openRawServer((socket) => {
      requests += 1
      socket.end(`${HEAD}Content-Length: ${BODY.length + 50}\r\n\r\n${BODY}`)
    })
    const { account, slept } = openReal(server)
    const error = await errorOf(account.listActivities(RANGE))
    expect(error).toMatchObject({ name: 'TransientError', code: 'cut_answer' })
    expect(requests).toBe(3)
    expect(slept).toEqual([500, 2_000])
  })

  it('detects a chunked answer that stops in the middle', async () => {
    const server = await openRawServer((socket) => {
      socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"suc\r\n`)
    })
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({ code: 'cut_answer' })
  })

  it('detects a gzip body that stops in the middle', async () => {
    const zipped = gzipSync(BODY)
    const half = zipped.subarray(0, zipped.length - 12)
    const server = await openHttpServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': half.length })
      response.end(half)
    })
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({ code: 'cut_answer' })
  })

  it('reports cut JSON when only the close of the connection ends the answer', async () => {
    const server = await openRawServer((socket) =>
      socket.end(`${HEAD}Connection: close\r\n\r\n${BODY.slice(0, 30)}`),
    )
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({
      name: 'UnexpectedResponseError',
      code: 'cut_json',
    })
  })

  it('times out on headers that never come', async () => {
    const server = await openRawServer(() => undefined)
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({
      name: 'TransientError',
      code: 'timeout',
    })
  })

  it('times out on a body that stalls', async () => {
    const server = await openRawServer((socket) =>
      socket.write(`${HEAD}Content-Length: 500\r\n\r\n{"success"`),
    )
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({
      name: 'TransientError',
      code: 'timeout',
    })
  })

  it('times out on a slow body that would exceed the total deadline', async () => {
    const timers = new Set<NodeJS.Timeout>()
    const server = await openRawServer((socket) => {
      socket.write(`${HEAD}Content-Length: 500000\r\n\r\n`)
      const timer = setInterval(() => socket.write(' '), 20)
      timers.add(timer)
      socket.on('close', () => clearInterval(timer))
    })
    const { account } = openReal(server, { timeouts: { ...SHORT, totalMs: 200 } })
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({
      name: 'TransientError',
      code: 'timeout',
    })
    for (const timer of timers) clearInterval(timer)
  })

  it('reports connection_lost when the service closes the connection without an answer', async () => {
    const server = await openRawServer((socket) => socket.destroy())
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({ code: 'connection_lost' })
  })

  it('reports connect_failed when no server listens', async () => {
    const server = await openRawServer(() => undefined)
    const { account } = openReal(server)
    await server.close()
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({
      code: 'connect_failed',
      requestSent: false,
    })
  })

  it('returns the answer of a later attempt', async () => {
    let requests = 0
    const server = await openRawServer((socket) => {
      requests += 1
      if (requests < 3) socket.destroy()
      else socket.end(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`)
    })
    const { account } = openReal(server)
    expect((await account.listActivities(RANGE)).value.entries).toHaveLength(1)
  })

  it('stops at once when the signal aborts, without another attempt', async () => {
    const stop = new AbortController()
    let requests = 0
    const server = await openRawServer((socket) => {
      requests += 1
      socket.write(`${HEAD}Content-Length: 500\r\n\r\n{`)
      stop.abort()
    })
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE, stop.signal))).toBe(stop.signal.reason)
    expect(requests).toBe(1)
  })
})

describe('answers that are long or compressed', () => {
  it('refuses an answer whose Content-Length is above the limit, unread', async () => {
    const server = await openRawServer((socket) => socket.write(`${HEAD}Content-Length: 5000000\r\n\r\n`))
    const { account } = openReal(server, { maxBodyBytes: 1_000_000 })
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({
      name: 'UnexpectedResponseError',
      code: 'too_large',
    })
  })

  it('stops reading an answer of unknown length at the limit', async () => {
    let written = 0
    const server = await openHttpServer((_request, response) => {
      const more = (): void => {
        if (response.destroyed) return
        written += 65_536
        response.write(Buffer.alloc(65_536, 32), () => more())
      }
      more()
    })
    const { account } = openReal(server, { maxBodyBytes: 1_000_000 })
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({ code: 'too_large' })
    expect(written).toBeLessThan(20_000_000)
  })

  it('counts the decoded size, so that a small gzip bomb is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000, 32))
    const server = await openHttpServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      response.end(bomb)
    })
    const { account } = openReal(server, { maxBodyBytes: 1_000_000 })
    expect(bomb.length).toBeLessThan(100_000)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({ code: 'too_large' })
  })

  it('accepts gzip, decodes it, and returns the decoded bytes with the time of the service', async () => {
    let accepted: string | undefined
    const server = await openHttpServer((request, response) => {
      accepted = String(request.headers['accept-encoding'])
      const headers = { 'content-encoding': 'gzip', date: 'Wed, 01 May 2024 10:00:00 GMT' }
      response.writeHead(200, headers).end(gzipSync(BODY))
    })
    const { account } = openReal(server)
    const answer = await account.listActivities(RANGE)
    expect(accepted).toBe('gzip')
    expect(answer.body.toString()).toBe(BODY)
    expect(answer.gzipped).toEqual(gzipSync(BODY))
    expect(answer.serviceTime).toEqual(new Date('2024-05-01T10:00:00Z'))
  })

  it.each([
    ['two members, the last of them small', Buffer.concat([gzipSync(LONG), gzipSync(' ')])],
    ['one piece', gzipSync(LONG)],
  ])('decodes gzip of %s, whatever size its last bytes tell', async (_, zipped) => {
    const server = await openHttpServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped)
    })
    const { account } = openReal(server)
    const answer = await account.listActivities(RANGE)
    expect(answer.body.equals(gunzipSync(zipped))).toBe(true)
  })

  it('refuses an encoding that it did not accept', async () => {
    const server = await openHttpServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'br' }).end('x')
    })
    const { account } = openReal(server)
    expect(await errorOf(account.listActivities(RANGE))).toMatchObject({ code: 'unknown_encoding' })
  })
})

describe('a refresh over a real connection', () => {
  it('fails within its own deadline when no answer comes', async () => {
    const server = await openRawServer((socket, head) => {
      if (!head.startsWith('POST')) socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n')
    })
    const { account, vault } = openReal(server)
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
    const { service } = openReal(server)
    const client = { baseUrl: server.origin, clientId: 'c', clientSecret: 's' }
    await service.requestLogin(client, { type: 'password', username: 'u', password: 'p' })
    await service.requestLogin(client, { type: 'password', username: 'u', password: 'p' })
    expect(new Set(ports).size).toBe(2)
  })
})
