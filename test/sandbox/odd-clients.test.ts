import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { listAll, openClient, sendRaw, type TestClient } from './client.ts'

let client: TestClient
let token: string
beforeEach(async () => {
  client = await openClient({ activities: 5 })
  token = await client.signIn()
})
afterEach(() => client.sandbox.close())

const fit = makeFitFile({ startedAt: new Date('2026-03-11T16:00:00Z'), seconds: 120 })
const BOUNDARY = '31415926535'

type Part = { head: string; body: Uint8Array | string }

const filePart = (head = 'name="file"; filename="Tour_été_河.fit"'): Part => ({ head, body: fit })
const namePart: Part = { head: 'name="name"', body: 'Größe 10' }

function multipart(parts: Part[]): Buffer {
  const pieces = parts.flatMap(({ head, body }) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)])
}

function uploadHead(length: number, extra = ''): string {
  return [
    'POST /oauth/upload HTTP/1.1',
    'Host: sandbox',
    `Authorization: Bearer ${token}`,
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    `Content-Length: ${length}`,
    'Connection: close',
    `${extra}\r\n`,
  ].join('\r\n')
}

async function uploadRaw(parts: Part[], extra = ''): Promise<string> {
  const body = multipart(parts)
  return sendRaw(client.sandbox.port, uploadHead(body.length, extra), body)
}

describe('an upload by an odd client', () => {
  it.each([
    ['before', [namePart, filePart()]],
    ['after', [filePart(), namePart]],
  ])('accepts the name %s the file, parts without type, a boundary of digits', async (_where, parts) => {
    const answer = await uploadRaw(parts)
    expect(answer).toContain('"success":true')
    expect((await listAll(client, token))[0]?.name).toBe('Größe 10')
  })

  it('names the activity after the file, in UTF-8, without a name', async () => {
    expect(await uploadRaw([filePart()])).toContain('"name":"Tour_\\u00e9t\\u00e9_\\u6cb3.fit"')
    expect((await listAll(client, token))[0]?.name).toBe('Tour_été_河.fit')
  })

  it('uses the part named file even without a file name', async () => {
    expect(await uploadRaw([filePart('name="file"')])).toContain('"success":true')
  })

  it('lets a client that waits for 100-continue go on', async () => {
    const answer = await uploadRaw([filePart()], 'Expect: 100-continue\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
  })

  it('gives up on a missing body, and serves others meanwhile', async () => {
    await client.steer('PATCH', 'settings', { body_timeout_ms: 150 })
    const waiting = sendRaw(client.sandbox.port, uploadHead(5_000))
    expect((await client.get('/oauth/workouts', token)).status).toBe(200)
    expect(await waiting).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('refuses a body that is not a multipart form, and a form without a file', async () => {
    const length = `Content-Length: 2\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n{}`
    const plain = await sendRaw(client.sandbox.port, `POST /oauth/upload HTTP/1.1\r\nHost: x\r\n${length}`)
    expect(plain).toMatch(/^HTTP\/1\.1 400 /)
    expect(await uploadRaw([namePart])).toContain('"success":false')
  })
})

describe('a GET by an odd client', () => {
  const get = (extra: string, version = '1.1') =>
    sendRaw(
      client.sandbox.port,
      `GET /oauth/workouts HTTP/${version}\r\nAuthorization: bearer ${token}\r\n${extra}Connection: close\r\n\r\n`,
    )

  it('may carry a content type and no body, no user agent, and close the connection', async () => {
    expect(await get('Host: x\r\nContent-Type: application/json\r\n')).toMatch(/^HTTP\/1\.1 200 OK/)
  })

  it('may leave out the host', async () => {
    expect(await get('')).toMatch(/^HTTP\/1\.1 200 OK/)
  })

  it('may come several at once', async () => {
    const paths = (await listAll(client, token)).map(({ path }) => path)
    const answers = await Promise.all(
      [...paths, ...paths].map((path) => client.get(`/oauth/activity/${path}?include_session_data=1`, token)),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  })
})
