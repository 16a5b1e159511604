import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { normalizeIntensity } from '../../../src/core/normalize/by-second.ts'
import { normalizeMeasures } from '../../../src/core/normalize/measures.ts'
import { type Changes, updateActivities } from '../../../src/core/store/activities/activity-changes.ts'
import { packDocument } from '../../../src/core/store/activities/raw-documents.ts'
import { recordAbsent, upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { type AnsweredDetail, writeActivities } from '../../../src/core/store/activities/write-activities.ts'
import type { Tx } from '../../../src/core/store/store.ts'
import { makeExtra, makeSamples } from '../../kit/samples.ts'
import { detailInput, detailRow, openAccount, openActivity, rawDocumentOf, recordDetail } from './detail.ts'
import { listed, makeActivity, openTestStore, rowsOf } from './open.ts'

const at = (second: number) => new Date(Date.UTC(2024, 5, 1, 12, 0, second))

test('a detail is written with its samples, extras, curve and raw document', async () => {
  const { store, sql, activityId } = await openActivity(at(0))
  const answer = Buffer.from('{"success":true}')
  const input = detailInput(activityId, at(1), {
    row: detailRow({ xss: 80.125, focus: 'Climber\0', elapsedS: 2 }),
    summary: { xss: 80.125, note: 'a\0\ud800' },
    sampleExtras: [makeExtra('proximity', [1, null, 'x\0'])],
    powerCurve: { source: 'p_raw', points: [{ durationS: 1, watts: 300 }] },
    rawDocument: await packDocument(answer),
  })
  expect(await store.transaction((tx) => recordDetail(tx, input))).toBe('written')
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
  expect(await sql`SELECT field, "values", others FROM training.sample_extras`).toEqual([
    { field: 'proximity', values: [1, null, null], others: { 3: 'x' } },
  ])
  expect(await sql`SELECT duration_s, watts, source FROM training.power_curves`).toEqual([
    { duration_s: 1, watts: 300, source: 'p_raw' },
  ])
  expect(await rawDocumentOf(store, activityId)).toEqual(answer)
})

test('an answer to an earlier request never overwrites a later answer', async () => {
  const { sql, record } = await openActivity(at(0))
  expect(await record(at(5), { row: detailRow({ xss: 50 }) })).toBe('written')
  expect(await record(at(4), { row: detailRow({ xss: 40 }) })).toBe('older')
  expect(await sql`SELECT xss FROM training.activities`).toEqual([{ xss: 50 }])
  expect(await sql`SELECT 1 FROM training.activity_revisions`).toEqual([])
})

test('a revision has the changes since the last fetch; the first fetch writes none', async () => {
  const { sql, record } = await openActivity(at(0))
  for (const second of [1, 2])
    await record(at(second), { row: detailRow({ xss: 80, focus: 'Climber', elapsedS: 2 }) })
  await record(at(3), { row: detailRow({ xss: 81.5, sigFtp: 250, elapsedS: 3 }), samples: makeSamples(4) })
  expect(await sql`SELECT observed_at, changes FROM training.activity_revisions`).toEqual([
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

const XSS = detailRow({ xss: 90, elapsedS: 2 })
const HR: Changes = { 'samples.hr': [1, 2] }

type Write = (tx: Tx, ids: { accountId: number; activityId: number }) => Promise<unknown>

const WRITES: [string, Write, Record<string, unknown> | undefined, Date?][] = [
  ['a list', (tx, ids) => list(tx, ids), { name: ['Ride p1', 'Tour'] }, at(7)],
  ['an answer', (tx, ids) => answer(tx, ids, { row: XSS }), { xss: [80, 90] }, at(8)],
  ['a repair of samples alone', (tx, ids) => answer(tx, ids, { contentChanges: HR }), HR, at(8)],
  ['an answer that changes nothing', (tx, ids) => answer(tx, ids, {}), undefined],
  [
    'a time zone',
    (tx, { activityId }) =>
      tx.client.query("UPDATE training.activities SET timezone = 'Asia/Tokyo' WHERE activity_id = $1", [
        activityId,
      ]),
    undefined,
  ],
  [
    'a derived value',
    (tx, { activityId }) => updateActivities(tx, [{ activityId, elapsedS: 3, straySamples: 1 }]),
    undefined,
  ],
  [
    'a list that lacks it, and one that has it again',
    async (tx, ids) => {
      await recordAbsent(tx, { ...ids, activityIds: [ids.activityId], absentSince: at(7) })
      await upsertListed(tx, { ...ids, entries: [listed('p1')], listedAt: at(8) })
    },
    undefined,
  ],
]

test('a revision has what the service changed, dated by the request', async () => {
  const { store, sql } = await openTestStore()
  for (const [what, write, changes, observedAt] of WRITES) {
    const ids = await makeActivity(store, at(5), what)
    await store.transaction((tx) => recordDetail(tx, detailInput(ids.activityId, at(6))))
    await store.transaction((tx) => write(tx, ids))
    const revisions =
      await sql`SELECT observed_at, changes FROM training.activity_revisions WHERE activity_id = ${ids.activityId}`
    expect(revisions, what).toEqual(changes ? [{ observed_at: observedAt, changes }] : [])
  }
})

function list(tx: Tx, { accountId }: Parameters<Write>[1]) {
  return upsertListed(tx, { accountId, entries: [listed('p1', { name: 'Tour' })], listedAt: at(7) })
}

function answer(tx: Tx, { activityId }: Parameters<Write>[1], change: Partial<AnsweredDetail>) {
  return recordDetail(tx, detailInput(activityId, at(8), change))
}

test('a revision has starts with microseconds, and no unchanged start', async () => {
  const { sql, record } = await openActivity(at(0))
  for (const [second, fraction] of ['123400', '123400', '123456'].entries()) {
    const startedAt = new Date(`2024-05-01T06:00:00.${fraction.slice(0, 3)}Z`)
    const told = { startedAt, timezone: 'UTC', startedAtLocal: `2024-05-01 06:00:00.${fraction}` }
    await record(at(second + 1), { row: detailRow(told) })
  }
  expect(await sql`SELECT changes FROM training.activity_revisions`).toEqual([
    {
      changes: {
        started_at: ['2024-05-01T06:00:00.1234+00:00', '2024-05-01T06:00:00.123456+00:00'],
        started_at_local: ['2024-05-01T06:00:00.1234', '2024-05-01T06:00:00.123456'],
      },
    },
  ])
})

test('only new samples replace the stored samples and their raw answer', async () => {
  const { store, sql, activityId, record } = await openActivity(at(0))
  const answer = async (text: string, count: number) => ({
    samples: makeSamples(count),
    intensity: normalizeIntensity(
      makeSamples(count, () => 201),
      count > 0 ? 200 : 100,
    ),
    rawDocument: await packDocument(Buffer.from(text)),
  })
  await record(at(1), await answer('first', 3))
  await record(at(2), await answer('second', 0))
  expect(await sql`SELECT ftp, above_ftp_s FROM training.activity_intensity`).toEqual([
    { ftp: 200, above_ftp_s: 3 },
  ])
  expect(await sql`SELECT count(*)::int FROM training.samples`).toEqual([{ count: 3 }])
  expect(String(await rawDocumentOf(store, activityId))).toBe('first')
  await record(at(3))
  expect(await sql`SELECT FROM training.raw_documents`).toEqual([])
})

test('a gzipped answer is stored unchanged', async () => {
  const { store, sql, activityId, record } = await openActivity(at(0))
  const document = Buffer.from('{"success":true}')
  const gzipped = gzipSync(document, { level: 9 })
  const rawDocument = await packDocument(document, gzipped)
  await record(at(1), { rawDocument })
  const [row] = await sql`SELECT encoding, body, sha256 FROM training.raw_documents`
  expect(row).toEqual({
    encoding: 'gzip',
    body: gzipped,
    sha256: createHash('sha256').update(document).digest('hex'),
  })
  expect(await rawDocumentOf(store, activityId)).toEqual(document)
})

test('a batch of details skips an older one, and fails as a whole with an unknown one', async () => {
  const { store, sql, list } = await openAccount()
  const ids = [1, 2, 3]
  await list(
    ids.map((id) => listed(`p${id}`)),
    at(0),
  )
  await store.transaction((tx) => recordDetail(tx, detailInput(2, at(9))))
  const inputs = await Promise.all(
    ids.map(async (id) =>
      detailInput(id, at(5), {
        row: detailRow({ xss: id }),
        samples: makeSamples(id),
        sampleExtras: [makeExtra('mm', [id])],
        powerCurve: { source: 'p_raw', points: [{ durationS: 1, watts: id }] },
        intensity: normalizeIntensity(makeSamples(id), 200 + id),
        measures: normalizeMeasures(makeSamples(id), 200),
        rawDocument: await packDocument(Buffer.from('answer'.repeat(id))),
      }),
    ),
  )
  const write = (details: readonly AnsweredDetail[]) =>
    store.transaction((tx) => writeActivities(tx, details))
  await expect(write([...inputs, detailInput(99, at(5))])).rejects.toMatchObject({ code: 'activity_busy' })
  const ends = await write(inputs)
  const wrote = (written: number, replaced = 0) => ({ result: 'written', written, replaced })
  expect(ends).toEqual([wrote(1), { result: 'older', written: 0, replaced: 0 }, wrote(3)])
  const rows = await sql`SELECT xss, x."values" AS mm, watts, ftp, m.activity_id AS measured, sha256,
      (SELECT count(*)::int FROM training.samples s WHERE s.activity_id = a.activity_id) AS samples
    FROM training.activities a LEFT JOIN training.sample_extras x USING (activity_id)
    LEFT JOIN training.power_curves USING (activity_id) LEFT JOIN training.activity_intensity USING (activity_id)
    LEFT JOIN training.ride_measures m USING (activity_id) LEFT JOIN training.raw_documents USING (activity_id)
    ORDER BY activity_id`
  const of = (id: number) => {
    const { sha256 } = inputs[id - 1]?.rawDocument ?? {}
    return { xss: id, mm: [id], watts: id, ftp: 200 + id, measured: id, sha256, samples: id }
  }
  expect(rows).toMatchObject([of(1), { xss: 80, mm: null, watts: null, measured: null, samples: 3 }, of(3)])
  // These counts decide whether the samples are vacuumed.
  expect(await write([detailInput(3, at(9), { samples: makeSamples(2) })])).toEqual([wrote(2, 3)])
})

test('each value of a sample extra has the time of its sample, in any row order', async () => {
  const { store, sql, record } = await openActivity(at(0))
  const samples = makeSamples(3)
  samples.t[2] = samples.t[1] as number
  const extras = [makeExtra('mm', [0.5, null, 222.34433067667987]), makeExtra('label', [null, 'x', 7])]
  await record(at(1), { samples, sampleExtras: extras })
  // Each update moves its row to the end of the table.
  await store.execute('UPDATE training.samples SET power = power WHERE ordinal IS NULL')
  await store.execute('UPDATE training.samples SET power = power WHERE ordinal = 1')
  const of = (index: number) => new Date(samples.t[index] as number)
  expect(
    await sql`SELECT field, t, ordinal, value, other FROM training.sample_extra_values ORDER BY field, t, ordinal`,
  ).toEqual([
    { field: 'label', t: of(0), ordinal: null, value: null, other: null },
    { field: 'label', t: of(1), ordinal: 1, value: null, other: 'x' },
    { field: 'label', t: of(1), ordinal: 2, value: 7, other: null },
    { field: 'mm', t: of(0), ordinal: null, value: 0.5, other: null },
    { field: 'mm', t: of(1), ordinal: 1, value: null, other: null },
    { field: 'mm', t: of(1), ordinal: 2, value: 222.34433067667987, other: null },
  ])
})

test('an unknown field is rewritten while its activity has no samples', async () => {
  const { sql, record } = await openActivity(at(0))
  for (const [second, values] of [[], [1]].entries())
    await record(at(second + 1), { samples: makeSamples(0), sampleExtras: [makeExtra('odd', values)] })
  expect(await sql`SELECT field, "values" FROM training.sample_extras`).toEqual([
    { field: 'odd', values: [1] },
  ])
})
