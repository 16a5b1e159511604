import { expect, test } from 'vitest'
import { makeSamplesVacuum, type SamplesVacuum } from '../../../src/core/store/samples/vacuum.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { makeSamples } from '../../kit/samples.ts'
import { openActivity, replaceSamples } from './detail.ts'
import { listed, quiet, rowsOf } from './open.ts'

const RIDES = 60
const SAMPLES = 2_000
const NONE: SamplesVacuum = {
  beforeRewrite: async () => undefined,
  afterWrite: async () => undefined,
  whenIdle: async () => undefined,
}
const ride = makeSamples(SAMPLES)

async function openRides() {
  const { store, list } = await openActivity(new Date())
  const entries = Array.from({ length: RIDES }, (_, ride) => listed(`p${ride + 1}`))
  await list(entries, new Date())
  // The lock of autovacuum would delay our vacuum until the next write.
  await store.execute('ALTER TABLE training.samples SET (autovacuum_enabled = false)')
  for (const index of ['samples_activity', 'samples_t'])
    await store.execute(`ALTER INDEX training.${index} SET (autosummarize = off)`)
  await store.execute(`UPDATE training.activities SET sample_count = ${SAMPLES}`)
  await writeAll(store, NONE, 0)
  return store
}

async function writeAll(store: Store, vacuum: SamplesVacuum, replaced: number): Promise<void> {
  for (let id = 0; id < RIDES; id++) {
    await store.transaction((tx) => replaceSamples(tx, id, ride))
    await vacuum.afterWrite([{ written: SAMPLES, replaced }])
  }
}

async function numberOf(store: Store, expression: string): Promise<number> {
  const [row] = await rowsOf(store, `SELECT (${expression})::float8 AS value`)
  return Number(row?.value)
}

/** Returns how many pages Postgres reads to find one ride. */
async function pagesRead(store: Store): Promise<number> {
  const [row] = await rowsOf(
    store,
    'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM training.samples WHERE activity_id = 30',
  )
  const plans = row?.['QUERY PLAN'] as [{ Plan: Record<string, number> }] | undefined
  const plan = plans?.[0].Plan ?? {}
  return (plan['Shared Hit Blocks'] ?? Number.NaN) + (plan['Shared Read Blocks'] ?? Number.NaN)
}

test('a replaced history takes less than twice its space and stays fast to read', async () => {
  const store = await openRides()
  const size = () => numberOf(store, `pg_total_relation_size('training.samples')`)
  const once = await size()
  const vacuum = makeSamplesVacuum({ store, log: quiet })
  for (let times = 0; times < 2; times++) {
    await writeAll(store, vacuum, SAMPLES)
    expect((await size()) / once).toBeLessThan(1.6)
  }
  await vacuum.whenIdle()
  const whole = await numberOf(store, `pg_relation_size('training.samples') / 8192`)
  expect(await pagesRead(store)).toBeLessThan(whole / 3)
})

test('a vacuum that another transaction blocks runs after the next write', async () => {
  const store = await openRides()
  const vacuum = makeSamplesVacuum({ store, log: quiet })
  const vacuums = () =>
    numberOf(store, `SELECT vacuum_count FROM pg_stat_all_tables WHERE relid = 'training.samples'::regclass`)
  await store.transaction(async (tx) => {
    await tx.client.query('LOCK TABLE training.samples IN SHARE UPDATE EXCLUSIVE MODE')
    await vacuum.afterWrite([{ written: 0, replaced: RIDES * SAMPLES }])
    expect(await vacuums()).toBe(0)
  })
  await vacuum.afterWrite([{ written: 1, replaced: 0 }])
  expect(await vacuums()).toBe(1)
})

test('the index covers new activities during a backfill', async () => {
  const store = await openRides()
  const unknown = () => numberOf(store, `brin_summarize_new_values('training.samples_activity')`)
  const vacuum = makeSamplesVacuum({ store, log: quiet })
  await vacuum.afterWrite([{ written: 99_999, replaced: 0 }])
  await vacuum.afterWrite([{ written: 1, replaced: 0 }])
  expect(await unknown()).toBe(0)
  const fresh = await openRides()
  await makeSamplesVacuum({ store: fresh, log: quiet }).afterWrite([{ written: 99_999, replaced: 0 }])
  expect(await numberOf(fresh, `brin_summarize_new_values('training.samples_activity')`)).toBeGreaterThan(10)
})

test('the planner knows that samples of an activity lie together, even after ANALYZE', async () => {
  const store = await openRides()
  const order = Array.from({ length: RIDES }, (_, ride) => (ride * 23) % RIDES)
  const vacuum = makeSamplesVacuum({ store, log: quiet })
  await store.execute('TRUNCATE training.samples')
  for (const id of order) {
    await store.transaction((tx) => replaceSamples(tx, id, ride))
    await vacuum.afterWrite([{ written: SAMPLES, replaced: SAMPLES }])
  }
  await vacuum.whenIdle()
  await store.execute('ANALYZE training.samples')
  const whole = await numberOf(store, `pg_relation_size('training.samples') / 8192`)
  expect(await pagesRead(store)).toBeLessThan(whole / 3)
  const statistics = `SELECT correlation, n_distinct FROM pg_stats WHERE tablename = 'samples' AND attname = 'activity_id'`
  expect(await rowsOf(store, statistics)).toEqual([
    { correlation: 1, n_distinct: expect.closeTo(-1 / SAMPLES, 6) },
  ])
})
