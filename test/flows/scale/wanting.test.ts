import { expect, it } from 'vitest'
import { upsertAccount } from '../../../src/core/store/account-rows.ts'
import { recordAbsent, upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { findAccountsWithWanted, findWanted } from '../../../src/core/store/activities/wanted.ts'
import { recordFetchFailure } from '../../../src/core/store/activities/write-activities.ts'
import { listed, openTestStore } from '../../core/store/open.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

it('a sweep reads exactly the signed-in accounts with due work', async () => {
  const { store } = await openTestStore()
  const make = async (name: string) => {
    const { accountId } = await store.transaction((tx) =>
      upsertAccount(tx, { name, baseUrl: 'http://127.0.0.1:9' }),
    )
    await store.transaction((tx) => upsertListed(tx, { accountId, entries: [listed('p1')], listedAt: at(0) }))
    const [activity] = await store.read((tx) => findWanted(tx, { accountId, limit: 1, now: at(0) }))
    if (!activity) throw new Error('a listed activity is wanted')
    return { accountId, activityId: activity.activityId }
  }
  const [wants, , paused, gone, whole] = [
    await make('wants'),
    await make('parked'),
    await make('paused'),
    await make('gone'),
    await make('whole'),
  ]
  await change(`update training.accounts set needs_login = name = 'parked'`)
  await store.transaction(async (tx) => {
    const failure = { error: 'x', attempts: 1, requestedAt: at(1), nextFetchAt: at(60) }
    await recordFetchFailure(tx, { ...failure, activityId: paused.activityId })
    await recordAbsent(tx, { accountId: gone.accountId, activityIds: [gone.activityId], absentSince: at(1) })
  })
  await change(`update training.activities set detail_state = 'mirrored' where activity_id = $1`, [
    whole.activityId,
  ])
  const names = async (now: Date) =>
    (await store.read((tx) => findAccountsWithWanted(tx, now))).map(({ name }) => name)
  expect(await names(at(2))).toEqual(['wants'])
  expect(await names(at(60))).toEqual(['wants', 'paused'])
  expect(wants.accountId).toBeLessThan(paused.accountId)

  async function change(text: string, values: unknown[] = []) {
    await store.transaction(async (tx) => void (await tx.client.query(text, values)))
  }
})
