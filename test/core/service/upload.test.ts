import { afterEach, describe, expect, it } from 'vitest'
import { openService } from '../../../src/core/service/service.ts'
import type { UploadFile } from '../../../src/core/service/wire/wire-upload.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'
import { errorOf, makeTestClock, makeTestLog } from './open-test-service.ts'
import { endJson, openHttpServer, openRawServer, type TestServer } from './servers.ts'

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function openAccount(server: TestServer) {
  const clock = makeTestClock()
  const vault = makeMemoryVault({ 1: makeCredentials(clock.now(), { origin: server.origin }) })
  const service = openService(
    { vault, log: makeTestLog().log, now: clock.now, sleep: clock.sleep },
    {
      concurrency: 4,
      requestsPerMinute: 60_000,
      userAgent: 'musette/test',
      timeouts: { headersMs: 300, totalMs: 5_000 },
    },
  )
  closers.push(() => server.close())
  closers.push(() => service.close())
  return service.forAccount({ accountId: 1, name: 'default', baseUrl: server.origin })
}

type Received = { headers: Record<string, unknown>; body: Buffer }

/** A real service that keeps what it received and answers the n-th upload by `answer`. */
async function openReceiver(answer: (count: number) => { status: number; body: unknown }) {
  const uploads: Received[] = []
  const server = await openHttpServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/oauth/token')
        return endJson(response, { access_token: 'access-1', refresh_token: 'r' })
      uploads.push({ headers: request.headers, body: Buffer.concat(chunks) })
      const { status, body } = answer(uploads.length)
      response.statusCode = status
      endJson(response, body)
    })
  })
  return { server, uploads }
}

const BYTES = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251))
const ACCEPTED = {
  success: true,
  json: { files: [{ name: 'ride.fit', size: 300_000, url: '/activity/ab12' }] },
}

function makeFile(changes: Partial<UploadFile> = {}): UploadFile {
  return { fileName: 'ride.fit', bytes: BYTES, ...changes }
}

/** Reads a multipart body the way a service would, by its boundary. */
function readParts({ headers, body }: Received): Array<{ head: string; content: Buffer }> {
  const boundary = /boundary=(.+)$/.exec(String(headers['content-type']))?.[1]
  const text = body.toString('latin1')
  expect(text.endsWith(`\r\n--${boundary}--\r\n`)).toBe(true)
  return `\r\n${text.slice(0, -4)}`
    .split(`\r\n--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const end = part.indexOf('\r\n\r\n')
      const head = Buffer.from(part.slice(2, end), 'latin1').toString('utf8')
      return { head, content: Buffer.from(part.slice(end + 4), 'latin1') }
    })
}

describe('an upload', () => {
  it('arrives byte for byte, with a Content-Length', async () => {
    const { server, uploads } = await openReceiver(() => ({ status: 200, body: ACCEPTED }))
    const answer = await openAccount(server).uploadFit(makeFile({ name: 'Évening ride' }))
    expect(answer.value.url).toBe('/activity/ab12')
    const [received] = uploads
    if (!received) throw new Error('nothing received')
    expect(Number(received.headers['content-length'])).toBe(received.body.length)
    expect(received.headers['transfer-encoding']).toBeUndefined()
    const parts = readParts(received)
    expect(parts.map((part) => part.head.split('\r\n')[0])).toEqual([
      'Content-Disposition: form-data; name="name"',
      'Content-Disposition: form-data; name="file"; filename="ride.fit"',
    ])
    expect(parts[0]?.content.toString()).toBe('Évening ride')
    expect(parts[1]?.content.equals(BYTES)).toBe(true)
  })

  it.each([
    ['/rides/2024/über "fast"\r\nX-Evil: 1.fit', 'über %22fast%22__X-Evil: 1.fit'],
    ['C:\\rides\\a.fit', 'a.fit'],
    ['', 'activity.fit'],
  ])('sends no default name, and a safe file name: %j', async (fileName, sent) => {
    const { server, uploads } = await openReceiver(() => ({ status: 200, body: ACCEPTED }))
    await openAccount(server).uploadFit(makeFile({ fileName }))
    const parts = uploads.flatMap(readParts)
    expect(parts.map((part) => part.head.split('\r\n')[0])).toEqual([
      `Content-Disposition: form-data; name="file"; filename="${sent}"`,
    ])
  })

  it('is sent again with the new token after a 401', async () => {
    const { server, uploads } = await openReceiver((count) =>
      count === 1 ? { status: 401, body: {} } : { status: 200, body: ACCEPTED },
    )
    let sent = 0
    await openAccount(server).uploadFit(makeFile({ onSent: () => void sent++ }))
    expect(sent).toBe(2)
    expect(uploads.map((upload) => upload.headers.authorization)).toEqual([
      'Bearer access-0',
      'Bearer access-1',
    ])
    expect(uploads[1]?.body.length).toBe(uploads[0]?.body.length)
    expect(uploads.flatMap(readParts).map(({ content }) => content.equals(BYTES))).toEqual([true, true])
  })

  it('is not retried, and may have arrived when its answer was lost', async () => {
    let uploads = 0
    const server = await openHttpServer((request, response) => {
      request.resume()
      request.on('end', () => {
        uploads += 1
        response.destroy()
      })
    })
    const error = await errorOf(openAccount(server).uploadFit(makeFile()))
    expect(error).toMatchObject({ name: 'TransientError', requestSent: true })
    expect(uploads).toBe(1)
  })

  it('may have arrived when the answer is a 5xx or does not come in time', async () => {
    const { server } = await openReceiver(() => ({ status: 502, body: {} }))
    expect(await errorOf(openAccount(server).uploadFit(makeFile()))).toMatchObject({
      code: 'server_error',
      requestSent: true,
    })
    const silent = await openHttpServer((request) => void request.resume())
    expect(await errorOf(openAccount(silent).uploadFit(makeFile()))).toMatchObject({
      code: 'timeout',
      requestSent: true,
    })
  })

  it('has not arrived when the connection broke during the body', async () => {
    const server = await openRawServer((socket) => socket.destroy())
    let sent = 0
    const file = makeFile({ bytes: Buffer.alloc(40_000_000), onSent: () => void sent++ })
    const error = await errorOf(openAccount(server).uploadFit(file))
    expect(error).toMatchObject({ name: 'TransientError', requestSent: false })
    expect(sent).toBe(0)
  })

  it('has not arrived when no server listens', async () => {
    const server = await openRawServer(() => undefined)
    const account = openAccount(server)
    await server.close()
    let sent = 0
    expect(await errorOf(account.uploadFit(makeFile({ onSent: () => void sent++ })))).toMatchObject({
      code: 'connect_failed',
      requestSent: false,
    })
    expect(sent).toBe(0)
  })

  it('ends with the reason of the signal that aborts it, and was not sent whole', async () => {
    const stop = new AbortController()
    const server = await openRawServer(() => stop.abort())
    let sent = 0
    const file = makeFile({ bytes: Buffer.alloc(40_000_000), onSent: () => void sent++ })
    const upload = openAccount(server).uploadFit(file, stop.signal)
    expect(await errorOf(upload)).toBe(stop.signal.reason)
    expect(sent).toBe(0)
  })
})

describe('a refused upload', () => {
  const refusedWith = async (status: number, body: unknown) => {
    const { server } = await openReceiver(() => ({ status, body }))
    return (await errorOf(openAccount(server).uploadFit(makeFile()))).message
  }

  it.each([
    [200, { success: false, error: 'the activity holds no records' }],
    [422, { message: 'the activity holds no records' }],
  ])('with status %i quotes the words of the service', async (status, body) => {
    expect(await refusedWith(status, body)).toContain(': "the activity holds no records"')
  })

  it('quotes one line of 200 characters at most', async () => {
    const message = await refusedWith(200, { success: false, error: `no\u0000\n${'ride '.repeat(900)}` })
    expect(message).toContain('"no ride ride')
    expect(message.length).toBeLessThan(400)
  })

  it.each([
    'access-0',
    'Bearer of bad news',
    'eyJhbGciOiJIUzI1NiJ9.e30.abc',
    '5f4dcc3b5aa765d61d8327deb882cf99',
  ])('never repeats what may be a token: %s', async (secret) => {
    expect(await refusedWith(200, { success: false, error: `refused: ${secret}` })).not.toContain(secret)
  })
})
