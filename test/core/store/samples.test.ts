import { afterAll, beforeEach, expect, test } from 'vitest'
import { insertSamples } from '../../../src/core/store/samples/content.ts'
import { encodeSamples, SAMPLE_FIELDS } from '../../../src/core/store/samples/encode-samples.ts'
import { TransientError } from '../../../src/kit/errors.ts'
import { makeSamples } from '../../kit/samples.ts'
import { replaceSamples } from './detail.ts'
import { backendPidOf, openTestStore, rowsOf, terminate } from './open.ts'

const { store, url, sql } = await openTestStore(afterAll)
beforeEach(() => store.execute('TRUNCATE training.samples'))

const COLUMNS = ['extract(epoch from t) * 1000 AS t', ...SAMPLE_FIELDS].join(', ')

test('every column is read back as written, including nulls', async () => {
  // Each field is null in different rows, so that a value in a wrong column shows.
  const samples = makeSamples(40, (field, index) => {
    const place = SAMPLE_FIELDS.indexOf(field)
    return index % SAMPLE_FIELDS.length === place ? Number.NaN : place * 100 + index + 0.25
  })
  const written = await store.transaction((tx) => replaceSamples(tx, 7, samples))
  expect(written).toBe(40)
  const rows = await rowsOf(store, `SELECT ${COLUMNS} FROM training.samples WHERE activity_id = 7 ORDER BY t`)
  expect(rows).toHaveLength(40)
  for (const [index, row] of rows.entries()) {
    expect(Number(row.t)).toBe(samples.t[index])
    for (const field of SAMPLE_FIELDS) {
      const sent = samples.columns[field][index] as number
      expect(row[field]).toBe(Number.isNaN(sent) ? null : sent)
    }
  }
})

test('positions keep all digits, and times keep microseconds, even before 2000', async () => {
  const samples = makeSamples(2, (field) => (field === 'lat' ? 52.520006599999995 : -13.404953999999975))
  samples.t[0] = Date.UTC(1985, 6, 1) + 0.5
  samples.t[1] = Number.NaN
  await store.transaction((tx) => replaceSamples(tx, 7, samples))
  const rows = await sql`SELECT cast(t AS text) AS t, lat, lng, power FROM training.samples ORDER BY t`
  expect(rows[0]).toEqual({
    t: '1985-07-01 00:00:00.0005+00',
    lat: 52.520006599999995,
    lng: -13.404953999999975,
    power: -13.404954,
  })
  expect(rows[1]?.t).toBeNull()
})

test('infinities stay, and values that a column cannot hold become null', async () => {
  const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e39, 3.4028235e38, 1e-50]
  const samples = makeSamples(values.length, (field, index) =>
    field === 'hr' ? (values[index] as number) : 1,
  )
  samples.t[1] = 9e15
  const written = await store.transaction((tx) => replaceSamples(tx, 7, samples))
  expect(written).toBe(5)
  const rows = await sql`SELECT hr FROM training.samples ORDER BY ctid`
  expect(rows.map((row) => row.hr)).toEqual([
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    null,
    3.4028235e38,
    0,
  ])
})

test('samples with the same time are numbered within each activity of a COPY', async () => {
  const mixed = makeSamples(6)
  mixed.t.set([1_000, 2_000, 2_000, 2_000.0001, 3_000, 3_000.5])
  const twice = makeSamples(2)
  twice.t.fill(5_000)
  const activities = [makeSamples(2), mixed, twice, twice].map((samples, activityId) => ({
    activityId,
    samples,
  }))
  expect(await store.transaction((tx) => insertSamples(tx, activities))).toBe(12)
  const ordinals =
    await sql`SELECT array_agg(ordinal ORDER BY power) AS each FROM training.samples GROUP BY activity_id ORDER BY activity_id`
  expect(ordinals.map(({ each }) => each)).toEqual([
    [null, null],
    [null, 1, 2, 3, null, null],
    [1, 2],
    [1, 2],
  ])
})

test('a connection lost during a COPY leaves no samples, and the store continues', async () => {
  const held = () => sql`SELECT count(*)::int AS n FROM training.samples`
  await store.transaction((tx) => replaceSamples(tx, 1, makeSamples(10)))
  const samples = makeSamples(400_000)
  const writing = store.transaction(async (tx) => {
    const backendPid = await backendPidOf(tx.client)
    const copying = replaceSamples(tx, 1, samples)
    const [end] = await Promise.allSettled([copying, terminate(url, backendPid)])
    if (end.status === 'rejected') throw end.reason
  })
  await expect(writing).rejects.toBeInstanceOf(TransientError)
  expect(await held()).toEqual([{ n: 10 }])
  await store.transaction((tx) => replaceSamples(tx, 1, makeSamples(20)))
  expect(await held()).toEqual([{ n: 20 }])
})

test('encoded samples come in chunks of at most 256 KB', () => {
  const sizes = [...encodeSamples([{ activityId: 1, samples: makeSamples(20_000) }]).chunks].map(
    (chunk) => chunk.length,
  )
  expect(sizes.length).toBeGreaterThan(5)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(256 * 1024)
})
