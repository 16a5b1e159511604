import { beforeAll, describe, expect, it } from 'vitest'
import { openForAll } from '../../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../../kit/postgres.ts'
import { openScene, type Scene } from './scene.ts'

/** 2^24: in single precision nothing is left of a 1 that is added to it. */
const LARGE = 16_777_216
const ROWS = 20_000
const EXACT = LARGE + ROWS - 1

/** A view or function whose parsed text has the aggregate or window function sum(real). */
const SUMMING = `with sums as (select '(agg|win)fnoid ' || 'pg_catalog.sum(real)'::regprocedure::oid || '\\M' as pattern)
  select ev_class::regclass::text as name from pg_rewrite, sums where ev_action::text ~ pattern
  union all select oid::regprocedure::text from pg_proc, sums where prosqlbody::text ~ pattern`

describe('sums of samples and FIT records', () => {
  let scene: Scene
  beforeAll(async () => {
    const ends: Array<() => Promise<void>> = []
    scene = await openScene((close) => void ends.push(close))
    const account = await scene.account()
    const ride = await scene.ride(account, '2024-05-05T05:00:00Z')
    const rows = `select ${ride} as id, now() + n * interval '1 s' as t, case n when 1 then ${LARGE} else 1 end as value, n
      from generate_series(1, ${ROWS}) as n`
    await scene.query(
      `insert into training.samples (activity_id, t, power, hr) select id, t, value, value from (${rows}) r`,
    )
    await scene.sql`insert into training.uploads (account_id, content_id, file_name, size_bytes, state, activity_id, seen_at)
      values (${account}, 'c', 'ride.fit', 1, 'mirrored', ${ride}, now())`
    await scene.sql`insert into training.fit_files (account_id, content_id, started_at, size_bytes, parts, records, fields, read_at)
      values (${account}, 'c', now(), 1, 1, 1, '{}', now())`
    await scene.query(
      `insert into training.fit_records (file_id, position, t, power) select file_id, n, t, value from training.fit_files, (${rows}) r`,
    )
    return async () => {
      for (const close of ends) await close()
    }
  })

  it.each([
    ['samples_float8', 'hr'],
    ['ride_records_float8', 'power'],
  ])('of %s are exact, where those of real lose every small value', async (view, column) => {
    const [found] = await scene.query(
      `select sum(${column}) as sum, sum(${column}::numeric) as exact, avg(${column}) as mean from training.${view}`,
    )
    expect(found).toEqual({ sum: EXACT, exact: String(EXACT), mean: EXACT / ROWS })
    const plain = await openTestDatabase({ migrated: false })
    const values = `(values (1, ${LARGE}::real), (2, 1), (3, 1)) v (n, value)`
    const [wrong] = await queryOnce(plain.url, `select sum(value order by n) as sum from ${values}`)
    await plain.close()
    expect(wrong).toEqual({ sum: LARGE })
  })

  it.each([
    ['samples_float8', 'samples'],
    ['ride_records_float8', 'ride_records'],
  ])('%s has every column of %s, and none is real', async (view, source) => {
    const columnsOf = async (name: string) => {
      const found = await scene.query(
        `select attname as name, replace(format_type(atttypid, null), 'real', 'double precision') as type, atttypid = 'real'::regtype as real,
           col_description(attrelid, attnum) as comment
         from pg_attribute where attrelid = 'training.${name}'::regclass and attnum > 0 and not attisdropped order by 1`,
      )
      const told = found.filter(({ name }) => name !== 'account' && name !== 'account_id')
      return { told: told.map(({ real, ...column }) => column), real: found.filter(({ real }) => real) }
    }
    const [exact, own] = [await columnsOf(view), await columnsOf(source)]
    expect(exact.told).toEqual(own.told)
    expect([exact.real.length, own.real.length > 13]).toEqual([0, true])
  })

  it.each([
    ['activity_id = 1', 'samples_activity'],
    ["t > now() + interval '1 day'", 'samples_t'],
  ])('of samples_float8 are found by the index: %s', async (condition, index) => {
    const plan = await scene.store.transaction(async ({ client }) => {
      await client.query('set local enable_seqscan = off')
      return (await client.query(`explain select sum(hr) from training.samples_float8 where ${condition}`))
        .rows
    })
    expect(JSON.stringify(plan)).toContain(index)
  })
})

describe('sum() of real', () => {
  const database = openForAll(() => openTestDatabase())

  it('is in no view or function', async () => {
    expect(await queryOnce(database.url, SUMMING)).toEqual([])
    const made = 'create view training.wrong as select sum(power) over () as power from training.samples'
    await queryOnce(database.url, made)
    expect(await queryOnce(database.url, SUMMING)).toEqual([{ name: 'training.wrong' }])
  })

  it('fails in every test, so that no statement of ours has it', async () => {
    await queryOnce(database.url, 'insert into training.samples (activity_id, power) values (1, 1)')
    const sum = (value: string) =>
      queryOnce(database.url, `select sum(${value}) as sum from training.samples`)
    await expect(sum('power')).rejects.toThrow('single precision')
    expect(await sum('power::float8')).toEqual([{ sum: 1 }])
  })
})
