import { expect, test } from 'vitest'
import type { Drift } from '../../../src/core/service/wire/lenient.ts'
import { recordDrift } from '../../../src/core/store/drift.ts'
import { findUpload, recordUploadSeen, recordUploadState } from '../../../src/core/store/uploads/uploads.ts'
import { makeAccount, openTestStore } from './open.ts'

const at = (second: number) => new Date(Date.UTC(2024, 5, 1, 12, 0, second))

test('drift is counted once per answer, field and kind, with one cut example', async () => {
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

test('a file has one ledger row, and only one of two senders gets it', async () => {
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
