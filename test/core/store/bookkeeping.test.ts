import { expect, test } from 'vitest'
import type { Drift } from '../../../src/core/service/wire/lenient.ts'
import { findAccountStatuses } from '../../../src/core/store/account-status.ts'
import { recordDrift } from '../../../src/core/store/drift.ts'
import {
  findRecentRuns,
  recordRunFinished,
  recordRunStarted,
  recordRunsAbandoned,
} from '../../../src/core/store/runs.ts'
import { findUpload, recordUploadSeen, recordUploadState } from '../../../src/core/store/uploads/uploads.ts'
import { openAccount } from './detail.ts'
import { listed, makeAccount, openTestStore } from './open.ts'

const at = (second: number) => new Date(Date.UTC(2024, 5, 1, 12, 0, second))

test('a run that has no end becomes abandoned, and one that ended keeps its result', async () => {
  const { store, accountId } = await openAccount()
  const run = { accountId, resource: 'activities', kind: 'poll' } as const
  const start = () => store.transaction((tx) => recordRunStarted(tx, run))
  const result = { outcome: 'partial', listed: 3, failed: 1, errorCode: 'x' } as const
  const ended = await start()
  await store.transaction((tx) => recordRunFinished(tx, ended, { ...result, error: 'bad\0' }))
  const left = await start()
  const abandon = (startedBefore: Date) =>
    store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore }))
  expect([await abandon(at(0)), await abandon(new Date(Date.now() + 86_400_000))]).toEqual([0, 1])
  const finishedAt = expect.any(Date)
  expect(await store.read((tx) => findRecentRuns(tx, { limit: 10 }))).toMatchObject([
    { runId: left, outcome: 'abandoned', finishedAt },
    { runId: ended, ...result, error: 'bad', changed: null, finishedAt },
  ])
})

test('drift counts once for each answer, by field and kind, and keeps one cut example', async () => {
  const { store, sql } = await openTestStore()
  const of = (field: string, kind: Drift['kind'], example: unknown): Drift => ({ field, kind, example })
  const empty = [of('a', 'unknown', null)]
  const other = [of('b', 'type', { deep: 'x'.repeat(500) }), of('b', 'unknown', undefined)]
  const record = (...answers: Drift[][]) => store.transaction((tx) => recordDrift(tx, 'activity', ...answers))
  await record([of('a', 'unknown', 7)], [], empty, [...other, ...other])
  await record(empty, other)
  await record([])
  const rows =
    await sql`SELECT field, kind, times::int, left(example, 9) AS example, length(example) FROM training.drift ORDER BY 1, 2`
  expect(rows).toEqual([
    { field: 'a', kind: 'unknown', times: 3, example: '7', length: 1 },
    { field: 'b', kind: 'type', times: 2, example: '{"deep":"', length: 100 },
    { field: 'b', kind: 'unknown', times: 2, example: null, length: null },
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
