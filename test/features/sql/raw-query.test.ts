import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { collectResults, openQueries, sumsReal } from '../../../src/features/sql/raw-query.ts'
import { splitStatements } from '../../../src/features/sql/split-statements.ts'
import { openGuardedConnection } from '../../../src/program/query/connection.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'

const database = openForAll(() => openTestDatabase({ migrated: false }))
const queries = openForAll(() => openQueries({ connectionString: database.url, write: false }))

const ENDLESS = 'select generate_series(1, 1000000000) as i'
const two = async () => (await collectResults(queries, 'select 1 + 1 as two'))[0]?.rows

describe('the guarded connection', () => {
  it('continues after an error, a cancelled statement and an early stop', async () => {
    await expect(collectResults(queries, 'select 1 / 0')).rejects.toThrow('division by zero')
    expect(await two()).toEqual([['2']])
    const stop = new AbortController()
    const cancelled = async () => {
      for await (const part of queries.run(ENDLESS, stop.signal)) if (part.kind === 'rows') stop.abort()
    }
    await expect(cancelled()).rejects.toMatchObject({ name: 'AbortError' })
    expect(await two()).toEqual([['2']])
    for await (const part of queries.run(ENDLESS)) if (part.kind === 'rows') break
    expect(await two()).toEqual([['2']])
    const active = `select 1 from pg_stat_activity where query like 'select generate%' and state = 'active'`
    expect(await queryOnce(database.url, active)).toEqual([])
  })

  it('accepts one statement at a time, so that no text can end the transaction', async () => {
    const input = { connectionString: database.url, applicationName: 'a test' }
    const connection = await openGuardedConnection(input)
    onTestFinished(() => connection.close())
    const run = async (text: string) => {
      for await (const _ of connection.run(text));
    }
    await expect(run('commit; create table written (a int)')).rejects.toThrow('multiple commands')
    await run('commit')
    await expect(run('create table written (a int)')).rejects.toThrow('read-only transaction')
    await run('rollback and chain')
    await expect(run('set transaction read write')).rejects.toThrow('before any query')
  })

  it('runs all statements of a text on one snapshot', async () => {
    await queryOnce(database.url, 'create table public.moments (a int)')
    const counts: unknown[] = []
    const count = 'select count(*) from public.moments'
    for await (const part of queries.run(`${count}; ${count}`)) {
      if (part.kind !== 'rows') continue
      counts.push(part.rows)
      await queryOnce(database.url, 'insert into public.moments values (1)')
    }
    expect(counts).toEqual([[['0']], [['0']]])
  })
})

describe('a text with several statements', () => {
  const pieces = fc.constantFrom(
    "select 'a;b''c'",
    "select e'it\\'s; one' || U&'x;'",
    'select 1 as "a;""b"',
    'select $$;$$ || $a$ ; $b$ $a$ as a$b$',
    'select 1 /* ; /* ; */ ; */ + 1',
    'select 1 -- ; none\n + 2',
    'select (select 1)',
    'select 1e5 as e',
    "select name'x;'",
  )

  it('is split at the ends of statements, but not after an open quote', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 6 }), async (statements) => {
        const text = `;${statements.join(' ;\n/* ; */ ')}; -- the end;`
        expect(splitStatements(text)).toHaveLength(statements.length)
        expect(await collectResults(queries, text)).toHaveLength(statements.length)
      }),
      { numRuns: 50 },
    )
    expect(splitStatements(' ; /* select 1 */ ; -- select 2')).toEqual([])
    for (const text of ["select 'a; select 1", 'select $x$ ; ', 'select "a;', '/* ; select 1'])
      expect(splitStatements(text).length).toBeLessThanOrEqual(1)
    await expect(collectResults(queries, "select 'a; select 1")).rejects.toThrow('unterminated quoted string')
  })
})

it.each<[boolean, string]>([
  [true, 'select sum(power) from samples'],
  [true, 'select round(SUM( distinct s."hr" )) / 60 from training.samples s'],
  [true, 'select sum(coalesce(p_raw, power)) over (order by t) from ride_samples where activity_id = 1'],
  [true, 'select account, sum(r.right_power_pct) from ride_records r group by 1'],
  [false, 'select avg(power), max(hr) from samples'],
  [false, 'select sum(power::float8), sum(power * held_s), sum(held_s) from ride_samples'],
  [false, 'select sum(power) from samples_float8'],
  [false, 'select sum(power) from ride_records_float8'],
  [false, 'select sum(tws) from activities'],
])('a sum of real is noticed (%s): %s', (is, text) => {
  expect(sumsReal(text)).toBe(is)
})
