import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  type Message,
  makeRequest,
  sendMessage,
  signatureOf,
} from '../../../src/features/webhooks/message-request.ts'
import { WEBHOOK_EVENTS, type Webhook } from '../../../src/features/webhooks/settings.ts'
import { eventually } from '../../kit/eventually.ts'
import { listen } from '../../kit/listen.ts'
import { makeWebhook, openTestReceiver, SECRET } from './receiver.ts'

const MESSAGE: Message = {
  id: '0b9f7a5e-6d0c-4a43-9d4e-0c9a5f3b2a11',
  event: 'login.lost',
  at: new Date('2026-03-01T08:00:00Z'),
  data: { title: 'The login is lost', text: 'run: musette login', account: 'default' },
}
const PLAIN_NTFY: Webhook = {
  ...{ name: 'phone', style: 'ntfy', url: 'http://ntfy.local/topic', events: [] },
  ...{ token: undefined, click: undefined },
}
const { signal } = new AbortController()
const send = (url: string) => sendMessage(makeWebhook(url), MESSAGE, { signal })

describe('a message', () => {
  it('is signed as in the example of Standard Webhooks', () => {
    const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
    const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
    expect(signatureOf(secret, { id, timestamp: 1_614_265_330, body: '{"test": 2432232314}' })).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    )
  })

  it('is a POST with id, time, signature, and type, timestamp and data as JSON', async () => {
    const receiver = await openTestReceiver()
    const startedAt = performance.now()
    const answer = await send(`${receiver.url}/hook?key=1`)
    expect(answer).toMatchObject({ status: 204, failure: undefined, beginning: '', retryAfterMs: undefined })
    expect(answer.ms).toBeLessThanOrEqual(Math.ceil(performance.now() - startedAt))
    const [got] = receiver.received
    expect(got?.path).toBe('/hook?key=1')
    const { id, event, at, data } = MESSAGE
    expect(JSON.parse(got?.text ?? '')).toEqual({ type: event, timestamp: at.toISOString(), data })
    const timestamp = Number(got?.headers['webhook-timestamp'])
    expect(Math.abs(timestamp - Date.now() / 1000)).toBeLessThan(60)
    expect(got?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-signature': signatureOf(SECRET, { id, timestamp, body: got?.text ?? '' }),
    })
  })

  it('for ntfy is a notification at the root of the server, with title, priority, tags and token', () => {
    const ntfy = { name: 'phone', style: 'ntfy', events: ['login.lost'] } as const
    const options = { token: 'tk_1', click: 'https://musette.example/' }
    const request = makeRequest(
      { ...ntfy, ...options, url: 'http://ntfy.local/sub/my-topic' },
      MESSAGE,
      new Date(),
    )
    expect(request.url).toBe('http://ntfy.local/sub/')
    expect(request.headers).toMatchObject({ authorization: 'Bearer tk_1', 'webhook-id': MESSAGE.id })
    expect(JSON.parse(request.body)).toEqual({
      topic: 'my-topic',
      title: 'The login is lost',
      message: 'run: musette login',
      priority: 5,
      tags: ['key'],
      click: 'https://musette.example/',
    })
  })

  it('for ntfy without token and click has neither', () => {
    const { headers, body } = makeRequest(PLAIN_NTFY, MESSAGE, new Date())
    expect(headers).not.toHaveProperty('authorization')
    expect(JSON.parse(body)).not.toHaveProperty('click')
  })

  it('for ntfy has the highest priority for a lost login, and a higher one for a fault than for its end', () => {
    const priorities = [...WEBHOOK_EVENTS, 'test' as const].map((event) => [
      event,
      JSON.parse(makeRequest(PLAIN_NTFY, { ...MESSAGE, event }, new Date()).body).priority,
    ])
    expect(Object.fromEntries(priorities)).toEqual({
      ...{ 'login.lost': 5, breakthrough: 4, 'upload.refused': 4 },
      ...{ 'mirror.stale': 4, 'mirror.restored': 4, 'backup.failed': 4 },
      ...{ 'activity.new': 3, 'mirror.recovered': 3, 'backup.recovered': 3, test: 3 },
      ...{ 'history.mirrored': 2, 'history.recalculated': 2 },
    })
  })
})

describe('an answer', () => {
  it('of any status but 200 to 299 is a failure; Retry-After is read', async () => {
    const receiver = await openTestReceiver((response) =>
      response.writeHead(503, { 'retry-after': '120' }).end('busy'),
    )
    expect(await send(receiver.url)).toMatchObject({
      status: 503,
      failure: 'HTTP 503',
      beginning: 'busy',
      retryAfterMs: 120_000,
    })
  })

  it.each([
    [200, undefined],
    [299, undefined],
    [300, 'HTTP 300'],
  ])('of status %i has the failure %s', async (status, failure) => {
    const receiver = await openTestReceiver((response) => response.writeHead(status).end())
    expect(await send(receiver.url)).toMatchObject({ status, failure })
  })

  it.each([
    ['0', 0],
    ['1', 1_000],
    ['7200', 3_600_000],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
  ])('with Retry-After: %s is waited for %s ms', async (after, retryAfterMs) => {
    const receiver = await openTestReceiver((response) =>
      response.writeHead(503, { 'retry-after': after }).end(),
    )
    expect(await send(receiver.url)).toMatchObject({ status: 503, retryAfterMs })
  })

  it('that redirects is a failure and is not followed', async () => {
    const target = await openTestReceiver()
    const receiver = await openTestReceiver((response) =>
      response.writeHead(307, { location: target.url }).end(),
    )
    expect(await send(receiver.url)).toMatchObject({ status: 307, failure: 'HTTP 307' })
    expect(target.received).toEqual([])
  })

  it('without end is cut off after 4 kB', async () => {
    let written = 0
    let isOpen = true
    const receiver = await openTestReceiver((response) => {
      response.on('close', () => {
        isOpen = false
      })
      response.writeHead(200)
      const piece = 'x'.repeat(65_536)
      const write = () => {
        for (let more = true; more && !response.destroyed; written += piece.length)
          more = response.write(piece)
      }
      response.on('drain', write)
      write()
    })
    const { status, failure, beginning } = await send(receiver.url)
    expect({ status, failure, bytes: beginning.length }).toEqual({
      status: 200,
      failure: undefined,
      bytes: 4_096,
    })
    // What is on its way in the buffers of both ends.
    expect(written).toBeLessThan(20_000_000)
    await eventually(() => !isOpen)
  })

  it('is not read beyond these 4 kB', async () => {
    const receiver = await openTestReceiver((response) => response.writeHead(200).write('x'.repeat(4_096)))
    const { beginning, ms } = await send(receiver.url)
    expect(beginning).toHaveLength(4_096)
    expect(ms).toBeLessThan(10_000)
  })

  it('that never comes is a failure after ten seconds', { timeout: 30_000 }, async () => {
    const receiver = await openTestReceiver(() => undefined)
    expect(await send(receiver.url)).toMatchObject({ status: undefined, failure: 'no answer within 10 s' })
  })

  it('that does not come is named by its code, without the address', async () => {
    const server = createServer()
    const port = await listen(server)
    await new Promise((resolve) => server.close(resolve))
    expect(await send(`http://127.0.0.1:${port}/hidden`)).toMatchObject({
      status: undefined,
      failure: 'no connection (ECONNREFUSED)',
    })
    // A port that no browser connects to has no code.
    expect((await send('http://127.0.0.1:1/hidden')).failure).toBe(
      'no connection (the address cannot be used)',
    )
  })

  it('is aborted when the daemon stops', async () => {
    const stop = new AbortController()
    const receiver = await openTestReceiver(() => stop.abort(new Error('stop')))
    await expect(sendMessage(makeWebhook(receiver.url), MESSAGE, { signal: stop.signal })).rejects.toThrow(
      'stop',
    )
  })
})
