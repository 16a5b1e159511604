import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/core/store/store.ts'
import { openWebhooks, type WebhookPauses } from '../../../src/features/webhooks/open-webhooks.ts'
import {
  claimMessage,
  findWebhookStates,
  recordMessages,
  recordWebhooks,
} from '../../../src/features/webhooks/outbox.ts'
import type { Webhook, WebhookEvent } from '../../../src/features/webhooks/settings.ts'
import { makeAccount, openTestStore, rowsOf } from '../../core/store/open.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeTestLog } from '../../kit/log.ts'
import type { Received } from '../../kit/receiver.ts'
import { readTable } from '../../kit/table.ts'
import { makeWebhook, openTestReceiver } from './receiver.ts'

const PAUSES: WebhookPauses = {
  lookEveryMs: 20,
  conditionsEveryMs: 50,
  restMs: 0,
  backoff: { firstMs: 100, maxMs: 400, factor: 2 },
}

async function open(conditions: () => Promise<[]> = async () => []) {
  const { store, sql } = await openTestStore()
  const log = makeTestLog()
  const start = async (webhooks: readonly Webhook[], isReadableByOthers = false) => {
    const opened = await openWebhooks(
      { store, log: log.log, conditions },
      { file: { path: 'webhooks.json', isReadableByOthers, webhooks }, pauses: PAUSES },
    )
    let closing: Promise<void> | undefined
    const close = () => (closing ??= opened.close())
    onTestFinished(close)
    return { close }
  }
  return { store, sql, log, start }
}

/** Records one message for a webhook per text. */
const tell = (
  store: Store,
  webhook: string,
  account_id: number | null,
  texts: readonly string[],
  event: WebhookEvent = 'activity.new',
) => {
  const common = { webhook, account_id, event, occurred_at: new Date() } as const
  const messages = texts.map((text) => ({ ...common, data: { title: 'A test', text } }))
  return store.transaction((tx) => recordMessages(tx, messages))
}

const textOf = ({ text }: Received) => JSON.parse(text).data.text as string
const statesOf = (store: Store) =>
  rowsOf(store, 'select webhook, state, attempts, last_error from musette.webhook_messages order by number')

describe('the messages of a webhook', () => {
  it('are delivered once and in order across processes and a crash; no URL is logged', async () => {
    const { store, log, start } = await open()
    const { url, received } = await openTestReceiver()
    await store.transaction((tx) => recordWebhooks(tx, ['home']))
    await tell(store, 'home', null, ['dead'])
    expect(await store.transaction((tx) => claimMessage(tx, { webhook: 'home', leaseMs: 500 }))).toBeDefined()
    for (let process = 0; process < 3; process += 1) await start([makeWebhook(`${url}/hidden`)], true)
    const texts = Array.from({ length: 30 }, (_, index) => String(index))
    await tell(store, 'home', null, texts)
    await eventually(async () => (await statesOf(store)).every(({ state }) => state === 'delivered'))
    expect(received.map(textOf)).toEqual(['dead', ...texts])
    expect(log.text()).toContain('message delivered')
    expect(log.text()).toContain('run: chmod 600 webhooks.json')
    expect(log.text()).not.toContain('over: ')
    expect(log.text()).not.toMatch(/hidden|127\.0\.0\.1/)
  })

  it('are repeated with the same id until accepted; other accounts do not wait', async () => {
    const { store, log, start } = await open()
    const [first, second] = [await makeAccount(store), await makeAccount(store, 'second')]
    let isDown = true
    const { url, received } = await openTestReceiver((response, got) =>
      response.writeHead(isDown && textOf(got) === 'a' ? 503 : 204).end(),
    )
    await start([makeWebhook(url)])
    await tell(store, 'home', first, ['a', 'b'])
    await tell(store, 'home', second, ['c'])
    const gotten = (text: string) => received.filter((got) => textOf(got) === text)
    await eventually(() => gotten('a').length >= 4)
    expect([gotten('c').length, gotten('b').length]).toEqual([1, 0])
    expect((await statesOf(store))[0]).toMatchObject({ state: 'open', last_error: 'HTTP 503' })
    isDown = false
    await eventually(() => gotten('b').length > 0)
    const sentence = 'webhooks: not delivered, HTTP 503; musette retries later'
    const said = () => log.lines.filter(({ msg }) => msg?.includes(sentence))
    await eventually(() => said().length > 1)
    expect(said().slice(0, 2)).toMatchObject([
      { level: 'warn', msg: sentence },
      { level: 'info', msg: `over: ${sentence}` },
    ])
    expect(log.text()).not.toContain('chmod')
    expect(new Set(gotten('a').map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    const times = gotten('a').map(({ at }) => at)
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0))
    expect(pauses[2]).toBeGreaterThan(pauses[0] ?? 0)
  })

  it.each(
    readTable(`
400 | passes
403 | passes
404 | passes
422 | passes
500 | passes
408 | waits
425 | waits
429 | waits
503 | waits`),
  )('stay open after %s, and the next message %s', async (status = '', later = '') => {
    const { store, start } = await open()
    const { url, received } = await openTestReceiver((response, got) =>
      response.writeHead(textOf(got) === 'a' ? Number(status) : 204).end(),
    )
    await start([makeWebhook(url)])
    await tell(store, 'home', null, ['a', 'b'])
    const count = (text: string) => received.filter((got) => textOf(got) === text).length
    // An urgent message passes all of them.
    await tell(store, 'home', null, ['urgent'], 'login.lost')
    await eventually(() => count('urgent') === 1)
    await eventually(() => count('a') > 5)
    const [first, second] = await statesOf(store)
    expect([first?.state, second?.state]).toEqual(['open', later === 'passes' ? 'delivered' : 'open'])
    expect(count('b')).toBe(later === 'passes' ? 1 : 0)
    const said = { refused: later === 'passes' ? 1 : 0, last_event: 'activity.new', last_title: 'A test' }
    expect((await store.read(findWebhookStates))[0]).toMatchObject({
      ...said,
      last_error: `HTTP ${status}`,
    })
  })

  it('survive a receiver that refuses all messages, and arrive once it accepts them', async () => {
    const { store, start } = await open()
    let status = 401
    const { url, received } = await openTestReceiver((response) => response.writeHead(status).end())
    await start([makeWebhook(url)])
    const texts = ['a', 'b', 'c']
    await tell(store, 'home', null, texts)
    const attempts = async () => (await statesOf(store)).map((row) => Number(row.attempts))
    await eventually(async () => (await attempts()).every((each) => each >= 6))
    expect((await store.read(findWebhookStates))[0]).toMatchObject({ open: 3, refused: 3, given_up: 0 })
    received.length = 0
    status = 204
    await eventually(async () => (await statesOf(store)).every(({ state }) => state === 'delivered'))
    expect(received.map(textOf).toSorted()).toEqual(texts)
  })

  it('do not wait for another receiver that hangs', async () => {
    const { store, start } = await open()
    const hanging = await openTestReceiver(() => undefined)
    const { url, received } = await openTestReceiver()
    const { close } = await start([makeWebhook(hanging.url, { name: 'slow' }), makeWebhook(url)])
    for (const webhook of ['slow', 'home']) await tell(store, webhook, null, ['a', 'b', 'c'])
    const undelivered = async () => (await statesOf(store)).filter(({ state }) => state === 'open')
    await eventually(async () => (await undelivered()).length === 3)
    expect(received).toHaveLength(3)
    // The first message to the hanging receiver is still in flight; it fails after 10 s.
    expect(await undelivered()).toEqual(Array(3).fill(expect.objectContaining({ last_error: null })))
    await eventually(() => hanging.received.length === 1)
    // A stop does not wait for the receiver.
    await close()
    expect(await undelivered()).toHaveLength(3)
  })

  it('are given up after three days, as row, log and status say; old ones are deleted', async () => {
    const { store, sql, log, start } = await open()
    const { url, received } = await openTestReceiver((response) => response.writeHead(500).end())
    await store.transaction((tx) => recordWebhooks(tx, ['home']))
    await tell(store, 'home', null, ['delivered'])
    await sql`update musette.webhook_messages set state = 'delivered', ended_at = now() - interval '8 days'`
    await tell(store, 'home', null, ['before the start'])
    // The first message is not tried before the daemon gives it up.
    const age = () => sql`update musette.webhook_messages set created_at = created_at - interval '3 days',
      next_try_at = case when data ->> 'text' = 'before the start' then 'infinity' else next_try_at end`
    await age()
    await start([makeWebhook(url)])
    await eventually(() => log.text().includes('given up after three days'))
    expect(received).toEqual([])
    await tell(store, 'home', null, ['a', 'b'])
    await eventually(() => received.length > 0)
    await age()
    await eventually(async () => (await statesOf(store)).every(({ state }) => state === 'given_up'))
    const said = log.lines.filter(({ level }) => level === 'error').map(({ msg }) => msg)
    expect(said).toContain('webhooks: message given up; run: musette webhook test')
    const [state] = await store.read(findWebhookStates)
    expect(state).toMatchObject({ webhook: 'home', open: 0, given_up: 3, last_error: expect.any(String) })
  })

  it('wait as long as Retry-After asks, if that exceeds the backoff', async () => {
    let looks = 0
    const { store, log, start } = await open(async () => {
      looks += 1
      if (looks < 3) throw new Error('no answer')
      return []
    })
    const later = { 'retry-after': '120' }
    const { url } = await openTestReceiver((response) => response.writeHead(503, later).end())
    await start([makeWebhook(url)])
    await tell(store, 'home', null, ['a'])
    const text = `select extract(epoch from next_try_at - clock_timestamp())::float8 as seconds
      from musette.webhook_messages where last_error is not null`
    const [row] = await eventually(async () => {
      const rows = await rowsOf(store, text)
      return rows.length > 0 && rows
    })
    expect(row?.seconds).toBeGreaterThan(100)
    expect(row?.seconds).toBeLessThan(121)
    // Conditions that cannot be checked are logged once, and again when they can.
    const said = () => log.lines.filter(({ msg }) => msg?.includes('webhooks: conditions: '))
    await eventually(() => looks > 3 && said().length > 1)
    expect(said()).toMatchObject([{ level: 'warn' }, { level: 'info', times: 2 }])
  })

  it('stop after a 410 Gone until the next start', async () => {
    const { store, log, start } = await open()
    let status = 410
    const { url, received } = await openTestReceiver((response) => response.writeHead(status).end())
    const { close } = await start([makeWebhook(url)])
    await tell(store, 'home', null, ['a', 'b'])
    await eventually(async () => (await statesOf(store)).every(({ state }) => state === 'given_up'))
    expect(received).toHaveLength(1)
    expect((await store.read(findWebhookStates))[0]?.gone_at).not.toBeNull()
    expect(log.text()).toContain('410 Gone')
    await close()
    status = 204
    await start([makeWebhook(url)])
    expect((await store.read(findWebhookStates))[0]?.gone_at).toBeNull()
    await tell(store, 'home', null, ['c'])
    await eventually(() => received.map(textOf).includes('c'))
  })
})
