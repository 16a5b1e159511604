import type { ActivityDetailRow } from '../../../src/core/store/activities/activity-changes.ts'
import { upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { findWanted } from '../../../src/core/store/activities/wanted.ts'
import { writeActivities } from '../../../src/core/store/activities/write-activities.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { recordNeedsLogin } from '../../../src/core/vault/stored-credentials.ts'
import { composeMessages } from '../../../src/features/webhooks/compose.ts'
import { recordWebhooks } from '../../../src/features/webhooks/outbox.ts'
import type { Webhook } from '../../../src/features/webhooks/settings.ts'
import { errorCode } from '../../../src/kit/errors.ts'
import { detailInput, detailRow } from '../../core/store/detail.ts'
import { listed, makeAccount, openTestStore, rowsOf } from '../../core/store/open.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeWebhook } from './receiver.ts'

export type Told = {
  webhook: string
  account_id: number | null
  event: string
  data: Record<string, unknown>
}

/** Opens a separate database that knows these webhooks; `told` makes the due messages and returns all messages so far. */
export async function openScene(webhooks: readonly Webhook[] = [makeWebhook('http://127.0.0.1:9')]) {
  const opened = await openTestStore()
  const { store } = opened
  const know = (list: readonly Webhook[]) => {
    const names = list.map(({ name }) => name)
    return store.transaction((tx) => recordWebhooks(tx, names))
  }
  await know(webhooks)
  return { ...opened, know, told: (list = webhooks) => findTold(store, list) }
}

/** Makes messages until every change is settled and read; transactions of other tests delay the settling. */
async function findTold(store: Store, webhooks: readonly Webhook[]): Promise<Told[]> {
  const left = `select from training.changes where change_id > (select min(change_id) from musette.webhooks)`
  await eventually(
    async () => {
      await composeMessages({ store }, { webhooks, restMs: 0 })
      return (await rowsOf(store, left)).length === 0
    },
    { what: 'every change is told' },
  )
  const all = 'select webhook, account_id, event, data from musette.webhook_messages order by number'
  return (await rowsOf(store, all)) as Told[]
}

/** Records the account `default`, signed in. */
export async function makeSignedIn(store: Store): Promise<number> {
  const accountId = await makeAccount(store)
  await store.transaction((tx) => recordNeedsLogin(tx, accountId, null))
  return accountId
}

/** Lists activities that started `daysAgo`, as a first or later poll does. */
export async function list(
  store: Store,
  input: { accountId: number; paths: readonly string[]; daysAgo?: number; name?: string },
): Promise<void> {
  const { accountId, paths, daysAgo = 0, name } = input
  const startedAt = new Date(Date.now() - daysAgo * 86_400_000 - 3_600_000)
  const entries = paths.map((path) => listed(path, { startedAt, ...(name !== undefined && { name }) }))
  await store.transaction((tx) => upsertListed(tx, { accountId, entries, listedAt: new Date() }))
}

/** Records the details of all wanted activities, as a fetch pass does; one by one if another process works on one of them. */
export async function fetchAll(
  store: Store,
  accountId: number,
  row: Partial<ActivityDetailRow> = {},
): Promise<void> {
  const now = new Date()
  const wanted = await store.read((tx) => findWanted(tx, { accountId, limit: 10_000, now }))
  const inputs = wanted.map(({ activityId }) =>
    detailInput(activityId, new Date(), { row: detailRow({ xss: 80, elapsedS: 5_400, ...row }) }),
  )
  const record = (some: typeof inputs) => store.transaction((tx) => writeActivities(tx, some))
  await record(inputs).catch(async (error: unknown) => {
    if (errorCode(error) !== 'activity_busy') throw error
    for (const input of inputs) await record([input])
  })
}

/** Lists activities and records their details. */
export async function mirror(
  store: Store,
  activities: Parameters<typeof list>[1],
  row?: Partial<ActivityDetailRow>,
): Promise<void> {
  await list(store, activities)
  await fetchAll(store, activities.accountId, row)
}

/** Signs an account in and loses its login again. */
export async function loseLogin(store: Store, accountId: number, reason = 'because'): Promise<void> {
  for (const each of [null, reason]) await store.transaction((tx) => recordNeedsLogin(tx, accountId, each))
}
