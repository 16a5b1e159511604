import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { recordDetail } from '../../src/store/activities/detail.ts'
import { upsertListed } from '../../src/store/activities/listed.ts'
import { findActivity } from '../../src/store/activities/wanted.ts'
import { readRawDocument } from '../../src/store/raw-documents.ts'
import { detailInput, detailRow, makeSamples } from './parts/detail.ts'
import { listed, makeActivity, openTestStore, rowsOf } from './parts/open.ts'

const at = (second: number) => new Date(Date.UTC(2024, 5, 1, 12, 0, second))

test('records row, samples, extras, curve and raw document together', async () => {
  const { store } = await openTestStore()
  const { activityId } = await makeActivity(store, at(0))
  const answer = Buffer.from('{"success":true}')
  const input = detailInput(activityId, at(1), {
    row: detailRow({ xss: 80.125, focus: 'Climber\0', elapsedS: 2 }),
    summary: { xss: 80.125, note: 'a\0\ud800' },
    sampleExtras: [{ field: 'proximity', values: [1, null, 'x\0'] }],
    powerCurve: [{ durationS: 1, watts: 300 }],
    rawDocument: { document: answer },
  })
  expect(await store.transaction((tx) => recordDetail(tx, input))).toBe('recorded')
  const [row] = await rowsOf(
    store,
    'SELECT xss, focus, elapsed_s, sample_count, summary, detail_state, fetched_at, fetch_error FROM training.activities',
  )
  expect(row).toEqual({
    xss: 80.125,
    focus: 'Climber',
    elapsed_s: 2,
    sample_count: 3,
    summary: { xss: 80.125, note: 'a\ufffd' },
    detail_state: 'mirrored',
    fetched_at: at(1),
    fetch_error: null,
  })
  expect(await rowsOf(store, 'SELECT field, "values" FROM training.sample_extras')).toEqual([
    { field: 'proximity', values: [1, null, 'x'] },
  ])
  expect(await rowsOf(store, 'SELECT duration_s, watts FROM training.power_curves')).toEqual([
    { duration_s: 1, watts: 300 },
  ])
  expect(await store.read((tx) => readRawDocument(tx, activityId))).toEqual(answer)
})

test('an answer asked for earlier never overwrites one asked for later', async () => {
  const { store } = await openTestStore()
  const { activityId } = await makeActivity(store, at(0))
  const record = (second: number, xss: number) =>
    store.transaction((tx) =>
      recordDetail(tx, detailInput(activityId, at(second), { row: detailRow({ xss }) })),
    )
  expect(await record(5, 50)).toBe('recorded')
  expect(await record(4, 40)).toBe('older')
  expect(await rowsOf(store, 'SELECT xss FROM training.activities')).toEqual([{ xss: 50 }])
  expect(await rowsOf(store, 'SELECT 1 FROM training.activity_revisions')).toEqual([])
})

test('a change listed during the fetch keeps the activity wanted', async () => {
  const { store } = await openTestStore()
  const { accountId, activityId } = await makeActivity(store, at(0))
  await store.transaction((tx) => upsertListed(tx, { accountId, entries: [listed('p1')], listedAt: at(6) }))
  await store.transaction((tx) => recordDetail(tx, detailInput(activityId, at(5))))
  expect(await store.read((tx) => findActivity(tx, activityId))).toMatchObject({
    detailState: 'wanted',
    sampleCount: 3,
  })
})

test('says in a revision what changed since the last fetch, and nothing at the first', async () => {
  const { store } = await openTestStore()
  const { activityId } = await makeActivity(store, at(0))
  const record = (second: number, change: Parameters<typeof detailInput>[2]) =>
    store.transaction((tx) => recordDetail(tx, detailInput(activityId, at(second), change)))
  await record(1, { row: detailRow({ xss: 80, focus: 'Climber', elapsedS: 2 }) })
  await record(2, { row: detailRow({ xss: 80, focus: 'Climber', elapsedS: 2 }) })
  await record(3, { row: detailRow({ xss: 81.5, sigFtp: 250, elapsedS: 3 }), samples: makeSamples(4) })
  expect(await rowsOf(store, 'SELECT observed_at, changes FROM training.activity_revisions')).toEqual([
    {
      observed_at: at(3),
      changes: {
        xss: [80, 81.5],
        focus: ['Climber', null],
        sig_ftp: [null, 250],
        elapsed_s: [2, 3],
        sample_count: [3, 4],
      },
    },
  ])
})

test('an answer without samples does not wipe out samples that are here', async () => {
  const { store } = await openTestStore()
  const { activityId } = await makeActivity(store, at(0))
  await store.transaction((tx) =>
    recordDetail(tx, detailInput(activityId, at(1), { rawDocument: { document: Buffer.from('first') } })),
  )
  const empty = { samples: makeSamples(0), powerCurve: [], rawDocument: { document: Buffer.from('second') } }
  await store.transaction((tx) => recordDetail(tx, detailInput(activityId, at(2), empty)))
  expect(await rowsOf(store, 'SELECT count(*)::int FROM training.samples')).toEqual([{ count: 3 }])
  expect(String(await store.read((tx) => readRawDocument(tx, activityId)))).toBe('first')
})

test('while samples are awaited it says when to ask again', async () => {
  const { store } = await openTestStore()
  const { activityId } = await makeActivity(store, at(0))
  const waiting = {
    samples: makeSamples(0),
    detailState: 'awaiting_samples',
    nextFetchAt: at(60),
    fetchAttempts: 3,
  } as const
  await store.transaction((tx) => recordDetail(tx, detailInput(activityId, at(1), waiting)))
  expect(await store.read((tx) => findActivity(tx, activityId))).toMatchObject({
    detailState: 'awaiting_samples',
    nextFetchAt: at(60),
    fetchAttempts: 3,
    sampleCount: 0,
  })
})

test('two answers at the same moment end as one whole activity', async () => {
  const { store } = await openTestStore()
  const { activityId } = await makeActivity(store, at(0))
  const record = (second: number, count: number) =>
    store.transaction((tx) =>
      recordDetail(tx, detailInput(activityId, at(second), { samples: makeSamples(count) })),
    )
  await Promise.all([record(1, 2_000), record(2, 3_000), record(3, 1_000)])
  const [row] = await rowsOf(
    store,
    'SELECT sample_count, (SELECT count(*)::int FROM training.samples) AS rows FROM training.activities',
  )
  expect(row).toEqual({ sample_count: 1_000, rows: 1_000 })
})

test('keeps an answer that came in gzip as it came', async () => {
  const { store } = await openTestStore()
  const { activityId } = await makeActivity(store, at(0))
  const document = Buffer.from('{"success":true}')
  const gzipped = gzipSync(document, { level: 9 })
  await store.transaction((tx) =>
    recordDetail(tx, detailInput(activityId, at(1), { rawDocument: { document, gzipped } })),
  )
  const [row] = await rowsOf(store, 'SELECT encoding, body, sha256 FROM training.raw_documents')
  expect(row).toEqual({
    encoding: 'gzip',
    body: gzipped,
    sha256: createHash('sha256').update(document).digest('hex'),
  })
  expect(await store.read((tx) => readRawDocument(tx, activityId))).toEqual(document)
})
