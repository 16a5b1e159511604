import { expect, test } from 'vitest'
import { findTodayOf } from '../../src/web/pages/today/account-day.ts'
import { makeAccount, openTestStore } from '../store/open.ts'

test('days with a good poll are counted back from today, or from yesterday before the first poll of a day', async () => {
  const { store } = await openTestStore()
  const accountId = await makeAccount(store)
  await store.execute(`UPDATE training.accounts SET timezone = 'Pacific/Auckland'`)
  const poll = (daysAgo: number, values = `'activities', 'poll', 'done'`) =>
    store.execute(`INSERT INTO training.sync_runs (account_id, started_at, resource, kind, outcome)
      SELECT account_id, (day - ${daysAgo} + time '00:00:01') AT TIME ZONE timezone, ${values} FROM training.today`)
  const days = async () => (await store.read((tx) => findTodayOf(tx, accountId)))?.days_mirrored
  expect(await days()).toBe(0)
  await poll(2)
  expect(await days()).toBe(0)
  await poll(1)
  expect(await days()).toBe(2)
  await poll(0, `'activities', 'poll', 'failed'`)
  await poll(0, `'training_info', 'poll', 'done'`)
  expect(await days()).toBe(2)
  await poll(0, `'activities', 'backfill', 'partial'`)
  expect(await days()).toBe(3)
  for (let ago = 4; ago < 95; ago++) await poll(ago)
  expect(await days()).toBe(3)
  await poll(3)
  expect(await days()).toBe(90)
})
