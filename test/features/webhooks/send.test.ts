import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Message,
  makeRequest,
  sendMessage,
  signatureOf,
} from '../../../src/features/webhooks/message-request.ts'
import type { Answer } from '../../../src/kit/http/send-request.ts'
import { eventually } from '../../kit/eventually.ts'
import { openReceiver, type Receiver } from '../../kit/receiver.ts'
import { readTable } from '../../kit/table.ts'
import { makeWebhook, openTestReceiver, SECRET } from './receiver.ts'

const MESSAGE: Message = {
  id: '0b9f7a5e-6d0c-4a43-9d4e-0c9a5f3b2a11',
  event: 'login.lost',
  at: new Date('2026-03-01T08:00:00Z'),
  data: { title: 'The login is lost', text: 'run: musette login', account: 'default' },
}
const { signal } = new AbortController()
const send = (url: string) => sendMessage(makeWebhook(url), MESSAGE, { signal })

describe('a message', () => {
  it('has the signature of the Standard Webhooks example', () => {
    const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
    const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
    expect(signatureOf(secret, { id, timestamp: 1_614_265_330, body: '{"test": 2432232314}' })).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    )
  })

  it('is a signed POST with id and time, and type, timestamp and data as JSON', async () => {
    const receiver = await openTestReceiver()
    const answer = await send(`${receiver.url}/hook?key=1`)
    expect(answer).toMatchObject({ status: 204, failure: undefined, beginning: '', retryAfterMs: undefined })
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

  it('for ntfy goes to the root of the server, with a token only if one is set', () => {
    const click = 'https://musette.example/'
    const common = { name: 'phone', style: 'ntfy', events: [], token: undefined } as const
    const ntfy = { ...common, url: 'http://ntfy.local/sub/my-topic', click }
    const request = makeRequest(ntfy, MESSAGE, new Date())
    expect(request.url).toBe('http://ntfy.local/sub/')
    expect(JSON.parse(request.body)).toMatchObject({ topic: 'my-topic', priority: 5, tags: ['key'], click })
    expect(request.headers).not.toHaveProperty('authorization')
  })
})

describe('a response', () => {
  // This takes ten seconds; other tests run meanwhile.
  let silent: Promise<[Receiver, Answer]>
  beforeAll(() => {
    silent = openReceiver(() => undefined).then(async (receiver) => [receiver, await send(receiver.url)])
  })

  it.each(
    readTable(`
299 | 5 | | undefined | 5000
300 | | | HTTP 300 | undefined
503 | 120 | busy | HTTP 503 | 120000
503 | 7200 | | HTTP 503 | 3600000
503 | Wed, 21 Oct 2026 07:28:00 GMT | | HTTP 503 | undefined`),
  )('of status %s with Retry-After "%s" and the text "%s" means failure %s, pause %s ms', async (...row) => {
    const [status = '', after = '', text = '', failure, wait] = row
    const headers = after === '' ? {} : { 'retry-after': after }
    const receiver = await openTestReceiver((response) =>
      response.writeHead(Number(status), headers).end(text),
    )
    const { failure: found, retryAfterMs, ...answer } = await send(receiver.url)
    expect(answer).toMatchObject({ status: Number(status), beginning: text })
    expect([String(found), String(retryAfterMs)]).toEqual([failure, wait])
  })

  it('with a redirect is a failure, and the redirect is not followed', async () => {
    const target = await openTestReceiver()
    const receiver = await openTestReceiver((response) =>
      response.writeHead(307, { location: target.url }).end(),
    )
    expect(await send(receiver.url)).toMatchObject({ status: 307, failure: 'HTTP 307' })
    expect(target.received).toEqual([])
  })

  it('without an end is cut off after 4 kB', async () => {
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
    const answer = await send(receiver.url)
    expect(answer).toMatchObject({ status: 200, failure: undefined })
    expect(answer.beginning).toHaveLength(4_096)
    // Both ends buffer some data in transit.
    expect(written).toBeLessThan(20_000_000)
    await eventually(() => !isOpen)
  })

  it('that never arrives is a failure after ten seconds', async () => {
    const [receiver, answer] = await silent
    await receiver.close()
    expect(answer).toMatchObject({ status: undefined, failure: 'no answer within 10 s' })
  })
})
