import { expect, test } from 'vitest'
import type { Drift } from '../../../src/core/service/wire/lenient.ts'
import { findAccountStatuses } from '../../../src/core/store/account-status.ts'
import { recordDrift } from '../../../src/core/store/drift.ts'
import {
  findProgress,
  findRecentRuns,
  recordCursor,
  recordListCap,
  recordRunFinished,
  recordRunStarted,
  recordRunsAbandoned,
} from '../../../src/core/store/runs.ts'
import { findUpload, recordUploadSeen, recordUploadState } from '../../../src/core/store/uploads/uploads.ts'
import { openAccount } from './detail.ts'
import { listed, makeAccount, openTestStore } from './open.ts'

const at = (second: number) => new Date(Date.UTC(2024, 5, 1, 12, 0, second))

test('a cursor follows the clock of the service, even backwards, and keeps the cap of the list', async () => {
  const { store, sql } = await openTestStore()
  const key = { accountId: await makeAccount(store), resource: 'activities' }
  const find = () => store.read((tx) => findProgress(tx, key))
  expect(await find()).toEqual({ cursor: undefined, listCap: null })
  await store.transaction((tx) => recordListCap(tx, { ...key, listCap: 500, checkedAt: at(0) }))
  expect(await find()).toEqual({ cursor: undefined, listCap: 500 })
  for (const second of [5, 9, 7]) {
    await store.transaction((tx) => recordCursor(tx, { ...key, updatedFrom: at(second) }))
  }
  expect(await find()).toMatchObject({ cursor: { updatedFrom: at(7) }, listCap: 500 })
  expect(await sql`SELECT list_checked_at AS at FROM training.sync_cursors`).toEqual([{ at: at(0) }])
})

test('a run has its result, and becomes abandoned after a crash', async () => {
  const { store, accountId } = await openAccount()
  const start = () =>
    store.transaction((tx) => recordRunStarted(tx, { accountId, resource: 'activities', kind: 'poll' }))
  const finished = await start()
  await store.transaction((tx) =>
    recordRunFinished(tx, finished, {
      outcome: 'partial',
      listed: 3,
      failed: 1,
      errorCode: 'x',
      error: 'bad\0',
    }),
  )
  const left = await start()
  const tomorrow = new Date(Date.now() + 86_400_000)
  expect(await store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore: at(0) }))).toBe(0)
  expect(await store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore: tomorrow }))).toBe(1)
  const runs = await store.read((tx) => findRecentRuns(tx, { limit: 10 }))
  expect(runs).toMatchObject([
    { runId: left, outcome: 'abandoned' },
    {
      runId: finished,
      outcome: 'partial',
      listed: 3,
      changed: null,
      failed: 1,
      errorCode: 'x',
      error: 'bad',
    },
  ])
  expect(runs.every((run) => run.finishedAt !== null)).toBe(true)
})

test('drift counts once for each answer, and keeps one example', async () => {
  const { store, sql } = await openTestStore()
  const seen: Drift[] = [{ field: 'a', kind: 'unknown', example: 7 }]
  const empty: Drift[] = [{ field: 'a', kind: 'unknown', example: null }]
  const other: Drift[] = [{ field: 'b', kind: 'type', example: 'x' }]
  await store.transaction((tx) => recordDrift(tx, 'activity', seen, [], empty, [...other, ...other]))
  await store.transaction((tx) => recordDrift(tx, 'activity', empty, other))
  const rows = await sql`SELECT field, times::int, example FROM training.drift ORDER BY field`
  expect(rows).toEqual([
    { field: 'a', times: 3, example: '7' },
    { field: 'b', times: 2, example: 'x' },
  ])
})

test('drift is counted by endpoint, field and kind, with a cut example', async () => {
  const { store, sql } = await openTestStore()
  const items: Drift[] = [
    { field: 'a', kind: 'unknown', example: { deep: 'x'.repeat(500) } },
    { field: 'a', kind: 'type', example: null },
    { field: 'a', kind: 'type', example: undefined },
  ]
  for (let round = 0; round < 3; round++) await store.transaction((tx) => recordDrift(tx, 'activity', items))
  await store.transaction((tx) => recordDrift(tx, 'activity', []))
  const rows = await sql`SELECT kind, times::int, length(example) FROM training.drift ORDER BY kind`
  expect(rows).toEqual([
    { kind: 'type', times: 3, length: null },
    { kind: 'unknown', times: 3, length: 100 },
  ])
})

test('a content is in the ledger once, and one of two senders changes its state', async () => {
  const { store, sql } = await openTestStore()
  const key = { accountId: await makeAccount(store), contentId: 'ab'.repeat(32) }
  const see = () =>
    store.transaction((tx) =>
      recordUploadSeen(tx, { ...key, fileName: 'a\0.fit', sizeBytes: 12, startedAt: null, seenAt: at(0) }),
    )
  const seen = await Promise.all([see(), see(), see()])
  expect(seen.filter((one) => one.isNew)).toHaveLength(1)
  const send = () =>
    store.transaction((tx) =>
      recordUploadState(
        tx,
        key,
        { state: 'sending', sentAt: at(1), countAttempt: true },
        { from: ['seen', 'unconfirmed'] },
      ),
    )
  const senders = await Promise.all([send(), send()])
  expect(senders.filter((one) => one !== undefined)).toHaveLength(1)
  await store.transaction((tx) => recordUploadState(tx, key, { state: 'refused', reason: 'no' }))
  expect(await store.read((tx) => findUpload(tx, key))).toMatchObject({
    fileName: 'a.fit',
    state: 'refused',
    reason: 'no',
    attempts: 1,
    sentAt: at(1),
  })
  expect(await sql`SELECT state FROM training.uploads`).toEqual([{ state: 'refused' }])
})

test('the rate of an account counts the fetches of the last five minutes, and is unknown without any', async () => {
  const { store, sql, list } = await openAccount()
  const entries = ['a', 'b', 'c', 'd', 'old', 'ahead'].map((path) => listed(path))
  await list(entries, new Date())
  const rate = async () => (await store.read(findAccountStatuses))[0]
  expect(await rate()).toMatchObject({ wanted: 6, fetched_per_minute: null, seconds_to_go: null })
  await sql`update training.activities set fetched_at = now()
      + case path when 'old' then '-301 s' when 'ahead' then '1 h' when 'a' then '-2 min' else '-1 min' end::interval`
  const { fetched_per_minute, seconds_to_go } = (await rate()) ?? {}
  expect(fetched_per_minute).toBeCloseTo(2, 0)
  expect(seconds_to_go).toBeCloseTo((6 * 60) / (fetched_per_minute ?? 0), 6)
})
