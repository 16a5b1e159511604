import { expect, test } from 'vitest'
import { upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { countByState, findActivity, findWanted } from '../../../src/core/store/activities/wanted.ts'
import { recordFetchFailure, recordUnchanged } from '../../../src/core/store/activities/write-activities.ts'
import { openAccount, openActivity } from './detail.ts'
import { listed } from './open.ts'

const at = (second: number) => new Date(Date.UTC(2024, 5, 1, 12, 0, second))

test('a list creates new activities, marks known ones, and counts a repeated path once', async () => {
  const { store, accountId } = await openAccount()
  const list = (entries: ReturnType<typeof listed>[], second: number) =>
    store.transaction((tx) => upsertListed(tx, { accountId, entries, listedAt: at(second) }))
  expect(await list([listed('a'), listed('b'), listed('b', { name: 'last' })], 0)).toEqual({
    inserted: 2,
    marked: 0,
  })
  expect(await list([listed('b'), listed('c')], 1)).toEqual({ inserted: 1, marked: 1 })
  expect(await list([], 2)).toEqual({ inserted: 0, marked: 0 })
  expect(await store.read((tx) => countByState(tx, accountId))).toMatchObject({ wanted: 3, mirrored: 0 })
})

test('thousands of entries with odd texts and dates are stored, newest first', async () => {
  const { sql, list } = await openAccount()
  const day = (index: number) => (index * 7_919) % 6_000
  const entries = Array.from({ length: 6_000 }, (_, index) =>
    listed(`p${day(index)}`, { startedAt: new Date(Date.UTC(2010, 0, day(index))) }),
  )
  entries.push(listed('odd', { name: 'a\0\ud800', startedAt: null, timezone: null, startedAtLocal: null }))
  expect(await list(entries, at(0))).toEqual({ inserted: 6_001, marked: 0 })
  // The newest get the lowest ids, so that samples lie in the order of fetching.
  const rows = await sql`SELECT path, name, started_at FROM training.activities ORDER BY activity_id`
  expect(rows.pop()).toEqual({ path: 'odd', name: 'a\ufffd', started_at: null })
  expect(rows.map(({ path }) => path)).toEqual(
    Array.from({ length: 6_000 }, (_, index) => `p${5_999 - index}`),
  )
})

test('wanted activities are found newest first, those without a start last', async () => {
  const { store, accountId, list } = await openAccount()
  const start = (day: number) => ({ startedAt: new Date(Date.UTC(2024, 0, day)) })
  const entries = [listed('old', start(1)), listed('none', { startedAt: null }), listed('new', start(3))]
  await list(entries, at(0))
  const wanted = await store.read((tx) => findWanted(tx, { accountId, limit: 10, now: at(1) }))
  expect(wanted.map((activity) => activity.path)).toEqual(['new', 'old', 'none'])
})

test('a failed activity is due after its pause, or at once if it is listed again', async () => {
  const { store, accountId, activityId, list } = await openActivity(at(0))
  const fail = (requestedAt: Date, nextFetchAt: Date | null) =>
    store.transaction((tx) =>
      recordFetchFailure(tx, { activityId, requestedAt, error: 'bad\0 answer', nextFetchAt, attempts: 2 }),
    )
  const due = async (now: Date) =>
    (await store.read((tx) => findWanted(tx, { accountId, limit: 10, now }))).map(
      (activity) => activity.activityId,
    )
  await fail(at(1), at(30))
  expect(await due(at(29))).toEqual([])
  expect(await due(at(30))).toEqual([activityId])
  await fail(at(31), null)
  expect(await due(at(59))).toEqual([])
  await list([listed('p1')], at(40))
  expect(await due(at(40))).toEqual([activityId])
  const activity = await store.read((tx) => findActivity(tx, activityId))
  expect(activity).toMatchObject({ detailState: 'failed', fetchAttempts: 2 })
})

test('an unchanged activity becomes mirrored unless it was listed after the request', async () => {
  const { store, activityId, record, list } = await openActivity(at(0))
  await record(at(1))
  const relist = (listedAt: Date) => list([listed('p1')], listedAt)
  const unchanged = (requestedAt: Date) =>
    store.transaction((tx) => recordUnchanged(tx, { activityId, requestedAt }))
  const state = async () => (await store.read((tx) => findActivity(tx, activityId)))?.detailState
  await relist(at(10))
  await unchanged(at(9))
  expect(await state()).toBe('wanted')
  await unchanged(at(11))
  expect(await state()).toBe('mirrored')
})
