import { describe, expect, it } from 'vitest'
import type { UploadFile } from '../../../src/core/service/wire/wire-upload.ts'
import { errorOf, openRealAccount } from './open-test-service.ts'
import { endJson, openHttpServer, openRawServer, type TestServer } from './servers.ts'

type Received = { headers: Record<string, unknown>; body: Buffer }
type Answer = { status?: number; body: unknown } | 'none' | 'closed'

const BYTES = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251))
const LARGE = Buffer.alloc(40_000_000)
const ACCEPTED = {
  success: true,
  json: { files: [{ name: 'ride.fit', size: 300_000, url: '/activity/ab12' }] },
}

/** Uploads a file to a server; `sent` counts how often all bytes were taken. */
function uploadTo(server: TestServer, changes: Partial<UploadFile> = {}, signal?: AbortSignal) {
  const { account } = openRealAccount(server, { timeouts: { headersMs: 300, totalMs: 5_000 } })
  let sent = 0
  const file = { fileName: 'ride.fit', bytes: BYTES, onSent: () => void sent++, ...changes }
  return { uploading: account.uploadFit(file, signal), sent: () => sent }
}

/** Uploads to a real service that answers the uploads in this order; returns what it received. */
async function upload(changes: Partial<UploadFile> = {}, ...answers: Answer[]) {
  const received: Received[] = []
  const server = await openHttpServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/oauth/token')
        return endJson(response, { access_token: 'access-1', refresh_token: 'r' })
      received.push({ headers: request.headers, body: Buffer.concat(chunks) })
      const answer = answers[received.length - 1] ?? { body: ACCEPTED }
      if (answer === 'closed') return response.destroy()
      if (answer === 'none') return undefined
      response.statusCode = answer.status ?? 200
      return endJson(response, answer.body)
    })
  })
  return { ...uploadTo(server, changes), received }
}

/** Reads a multipart body by its boundary, as a service would. */
function readParts({ headers, body }: Received): Array<{ head: string; content: Buffer }> {
  const boundary = /boundary=(.+)$/.exec(String(headers['content-type']))?.[1]
  const text = body.toString('latin1')
  expect(text.endsWith(`\r\n--${boundary}--\r\n`)).toBe(true)
  return `\r\n${text.slice(0, -4)}`
    .split(`\r\n--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const end = part.indexOf('\r\n\r\n')
      const head = Buffer.from(part.slice(2, end), 'latin1').toString('utf8').split('\r\n')[0] ?? ''
      return { head, content: Buffer.from(part.slice(end + 4), 'latin1') }
    })
}

describe('an upload', () => {
  it('arrives byte for byte, with a Content-Length', async () => {
    const { uploading, received } = await upload({ name: 'Évening ride' })
    expect((await uploading).value.url).toBe('/activity/ab12')
    const [{ headers, body } = { headers: {}, body: Buffer.alloc(0) }] = received
    expect([Number(headers['content-length']), headers['transfer-encoding']]).toEqual([
      body.length,
      undefined,
    ])
    const [name, file] = received.flatMap(readParts)
    expect(name?.head).toBe('Content-Disposition: form-data; name="name"')
    expect(name?.content.toString()).toBe('Évening ride')
    expect(file?.head).toBe('Content-Disposition: form-data; name="file"; filename="ride.fit"')
    expect(file?.content.equals(BYTES)).toBe(true)
  })

  it.each([
    ['/rides/2024/über "fast"\r\nX-Evil: 1.fit', 'über %22fast%22__X-Evil: 1.fit'],
    ['C:\\rides\\a.fit', 'a.fit'],
    ['', 'activity.fit'],
  ])('sends no name by default, and a safe file name: %j', async (fileName, sent) => {
    const { uploading, received } = await upload({ fileName })
    await uploading
    const heads = received.flatMap(readParts).map(({ head }) => head)
    expect(heads).toEqual([`Content-Disposition: form-data; name="file"; filename="${sent}"`])
  })

  it('is sent again with the new token after a 401', async () => {
    const { uploading, received, sent } = await upload({}, { status: 401, body: {} })
    await uploading
    expect(received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer access-0',
      'Bearer access-1',
    ])
    expect(received.flatMap(readParts).map(({ content }) => content.equals(BYTES))).toEqual([true, true])
    expect([sent(), new Set(received.map(({ body }) => body.length)).size]).toEqual([2, 1])
  })

  it.each<[string, Answer, string]>([
    ['is lost', 'closed', 'connection_lost'],
    ['is a 5xx', { status: 502, body: {} }, 'server_error'],
    ['does not come in time', 'none', 'timeout'],
  ])('is not retried, and may have arrived, if its response %s', async (_what, answer, code) => {
    const { uploading, received } = await upload({}, answer)
    expect(await errorOf(uploading)).toMatchObject({ name: 'TransientError', code, requestSent: true })
    expect(received).toHaveLength(1)
  })

  it.each(['the connection broke during the body', 'no server listens', 'the caller stopped it'])(
    'has not arrived if %s',
    async (what) => {
      const stop = new AbortController()
      const server = await openRawServer((socket) =>
        what === 'the caller stopped it' ? stop.abort() : void socket.destroy(),
      )
      if (what === 'no server listens') await server.close()
      const { uploading, sent } = uploadTo(server, { bytes: LARGE }, stop.signal)
      const error = await errorOf(uploading)
      if (stop.signal.aborted) expect(error).toBe(stop.signal.reason)
      else expect(error).toMatchObject({ name: 'TransientError', requestSent: false })
      if (what === 'no server listens') expect(error.code).toBe('connect_failed')
      expect(sent()).toBe(0)
    },
  )
})
