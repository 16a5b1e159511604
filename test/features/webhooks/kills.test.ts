import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/core/store/store.ts'
import { recordNeedsLogin } from '../../../src/core/vault/stored-credentials.ts'
import { recordWebhooks } from '../../../src/features/webhooks/outbox.ts'
import { makeAccount, openTestStore, rowsOf } from '../../core/store/open.ts'
import { eventually } from '../../kit/eventually.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import type { Received } from '../../kit/receiver.ts'
import { whole } from '../../kit/sampling.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openTestReceiver, WHSEC } from './receiver.ts'
import { fetchAll, list } from './scene.ts'

/** Set WEBHOOK_KILLS=1000 for a long run. */
const KILLS = Number(process.env.WEBHOOK_KILLS ?? (whole ? 100 : 6))
/** A daemon opens its webhooks within one or two seconds, so kills hit it before, during and after its work. */
const LIVES_MS = { least: 300, most: 3_000 }
const DELIVERED_MS = 60_000 + KILLS * 10_000

it('every message arrives in order for each account, however often the daemon is killed', {
  timeout: 60_000 + KILLS * 20_000,
}, async () => {
  const { store, url } = await openTestStore()
  const folder = await openTempDir('kills')
  onTestFinished(() => folder.close())
  let done = false
  const accepted = new Set<unknown>()
  const receiver = await openTestReceiver((response, { headers }) => {
    const status = !done && Math.random() < 0.1 ? 503 : 204
    if (status === 204) accepted.add(headers['webhook-id'])
    if (done) return void response.writeHead(status).end()
    setTimeout(() => response.writeHead(status).end(), Math.random() * 100)
  })
  const file = join(folder.path, 'webhooks.json')
  const webhook = { name: 'home', style: 'standard', url: receiver.url, secret: WHSEC }
  await writeFile(file, JSON.stringify([webhook]), { mode: 0o600 })
  const start = () =>
    startNode([distPath('main.js'), 'start', '--roles', 'worker'], {
      env: { DATABASE_URL: url, MUSETTE_DATA_DIR: folder.path, MUSETTE_HTTP: 'off', MUSETTE_WEBHOOKS: file },
    })

  const accounts = [await makeAccount(store), await makeAccount(store, 'second')]
  await store.transaction((tx) => recordWebhooks(tx, ['home']))
  const made = { lost: 0, activities: 0 }
  const producing = (async () => {
    while (!done) {
      await produce(store, accounts, made)
      await delay(Math.random() * 400)
    }
  })()
  for (let kill = 0; kill < KILLS; kill += 1) {
    const daemon = start()
    await delay(LIVES_MS.least + Math.random() * (LIVES_MS.most - LIVES_MS.least))
    await daemon.kill('SIGKILL')
    await hurry(store, 'open')
  }
  done = true
  await producing

  const last = start()
  onTestFinished(async () => void (await last.kill('SIGKILL')))
  await untilDelivered(store)

  const rows = await rowsOf(store, 'select message_id, state from musette.webhook_messages')
  expect(rows.every(({ state }) => state === 'delivered')).toBe(true)
  const got = firstOfEach(receiver.received)
  expect(accepted).toEqual(new Set(rows.map(({ message_id: id }) => id)))
  const lost = got.filter(({ event }) => event === 'login.lost')
  expect(lost).toHaveLength(made.lost)
  for (const account of ['default', 'second']) {
    const numbers = lost.filter(({ data }) => data.account === account).map(({ data }) => Number(data.reason))
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  }
  const gathered = got.filter(({ event }) => event === 'history.mirrored')
  expect(gathered.reduce((sum, { data }) => sum + Number(data.activities), 0)).toBe(made.activities)
})

/** Waits until every change has become a message and every message is delivered. */
const untilDelivered = (store: Store) =>
  eventually(
    async () => {
      await hurry(store, 'failed')
      const [left] = await rowsOf(
        store,
        `select (select count(*) from musette.webhook_messages where state = 'open') as messages,
           (select count(*) from musette.webhook_digests) as digests, (select count(*) from musette.webhook_waiting) as waiting,
           (select count(*) from training.changes where change_id > (select min(change_id) from musette.webhooks)) as changes`,
      )
      return Object.values(left ?? { none: 1 }).every((count) => Number(count) === 0)
    },
    { timeoutMs: DELIVERED_MS, everyMs: 500, what: 'every message is delivered' },
  )

/** Loses an account's login for a numbered reason, and sometimes mirrors old activities of the account. */
async function produce(
  store: Store,
  accounts: readonly number[],
  made: Record<'lost' | 'activities', number>,
) {
  const accountId = accounts[Math.floor(Math.random() * accounts.length)] as number
  made.lost += 1
  for (const reason of [null, String(made.lost)])
    await store.transaction((tx) => recordNeedsLogin(tx, accountId, reason))
  if (Math.random() < 0.8) return
  const paths = Array.from({ length: 5 }, (_, index) => `a${made.activities + index}`)
  await list(store, { accountId, paths, daysAgo: 100 })
  await fetchAll(store, accountId)
  made.activities += paths.length
}

/** Ends the pauses before a digest and before the next attempt: for all open messages while no daemon runs, or for failed messages only. */
async function hurry(store: Store, which: 'open' | 'failed'): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.client.query(
      `update musette.webhook_messages set next_try_at = clock_timestamp()
       where state = 'open' and ($1 = 'open' or last_error is not null)`,
      [which],
    )
    await tx.client.query(`update musette.webhook_digests set last_at = last_at - interval '1 hour'`)
  })
}

type Got = { event: string; data: Record<string, unknown> }

/** Returns the messages in the order in which each first arrived; a refused attempt counts, too. */
function firstOfEach(received: readonly Received[]): Got[] {
  const seen = new Map<unknown, Got>()
  for (const { headers, text } of received) {
    const { type: event, data } = JSON.parse(text)
    if (!seen.has(headers['webhook-id'])) seen.set(headers['webhook-id'], { event, data })
  }
  return [...seen.values()]
}
