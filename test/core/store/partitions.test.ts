import { expect, test } from 'vitest'
import { makePartitions } from '../../../src/core/store/samples/partitions.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeTestLog } from '../../kit/log.ts'
import { queryOnce, WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { makeSamples } from '../../kit/samples.ts'
import { replaceSamples } from './detail.ts'
import { openTestStore } from './open.ts'

/** Partitions of four activities instead of five thousand, and steps of a few pages. */
const TINY = { keys: 4, stepPages: 3 }
const RIDES = 10
const SUMS = 'SELECT count(*)::int AS rows, sum(hash_record_extended(s, 0)) FROM training.samples s'

async function openMirror() {
  const opened = await openTestStore()
  await opened.store.execute(
    `INSERT INTO training.accounts (name, base_url) VALUES ('default', 'http://127.0.0.1:9');
     INSERT INTO training.activities (account_id, path, listed_at, wanted_at, sample_count)
       SELECT 1, 'p' || n, now(), now(), 300 FROM generate_series(1, ${RIDES}) n;
     INSERT INTO training.samples (activity_id, t, power)
       SELECT a, '2024-05-01'::timestamptz + s * interval '1 s', s FROM generate_series(1, ${RIDES}) a, generate_series(1, 300) s`,
  )
  const log = makeTestLog()
  const makeProcess = (store = opened.store) => makePartitions({ store, log: log.log }, TINY)
  const kindOf = async () =>
    (await opened.sql`SELECT relkind FROM pg_class WHERE oid = 'training.samples'::regclass`)[0]?.relkind
  return {
    ...opened,
    log,
    kindOf,
    /** one call by a new process */
    keep: (store?: Store) => makeProcess(store).keep(),
    async finish(): Promise<void> {
      const { keep } = makeProcess()
      for (let looks = 0; looks < 20 && (await keep()); looks++);
      expect(await kindOf()).toBe('p')
    },
  }
}

test('a table keeps all rows, even if the processes that move them are killed', async () => {
  const { store, sql, keep, kindOf, finish, url } = await openMirror()
  const before = await queryOnce(url, SUMS)
  let transactions = 0
  const killed: Store = {
    ...store,
    transaction: (fn) =>
      store.transaction(async (tx) => {
        const result = await fn(tx)
        // Ends each third connection before its commit, so that its work is repeated.
        if (transactions++ % 3 === 0) await tx.client.query('SELECT pg_terminate_backend(pg_backend_pid())')
        return result
      }),
  }
  for (let looks = 0; looks < 6; looks++) {
    await keep(killed).catch(() => undefined)
    expect(await queryOnce(url, SUMS)).toEqual(before)
  }
  expect(transactions).toBeGreaterThan(6)
  expect(await kindOf()).toBe('r')
  expect(await sql`SELECT FROM musette.samples_2 LIMIT 1`).toHaveLength(1)
  await store.execute('ALTER TABLE training.samples ADD COLUMN later real DEFAULT 1')
  const wider = await queryOnce(url, SUMS)
  await finish()
  expect(await queryOnce(url, SUMS)).toEqual(wider)
  await store.execute('ALTER TABLE training.samples DROP COLUMN later')
  expect(await queryOnce(url, SUMS)).toEqual(before)
})

test('an earlier transaction sees each row once and does not block the move', async () => {
  const { store, sql, url, keep, kindOf, finish, log } = await openMirror()
  const before = await queryOnce(url, SUMS)
  const hasNext = () => sql`SELECT to_regclass('musette.samples_4') IS NOT NULL AS has`
  await store.read(async ({ client }) => {
    await client.query('SELECT FROM training.accounts')
    // The table cannot be vacuumed but is small, so it becomes the default partition, with rows that only this transaction sees.
    await finish()
    expect((await client.query(SUMS)).rows).toEqual(before)
    // This transaction locks the table now. A step that would have to wait for it is left for later.
    await sql`INSERT INTO training.activities (account_id, path, listed_at, wanted_at) SELECT 1, 'later' || n, now(), now() FROM generate_series(1, 5) n`
    expect(await keep()).toBe(false)
    expect(await hasNext()).toEqual([{ has: false }])
    expect((await client.query(SUMS)).rows).toEqual(before)
  })
  expect(await keep()).toBe(false)
  expect(await hasNext()).toEqual([{ has: true }])
  expect(await kindOf()).toBe('p')
  expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([])
})

test('a deletion that waits for a step finds the moved rows', async () => {
  const { store, sql, url, finish } = await openMirror()
  const deleteDuring = async (activityId: number, step: string) => {
    const { waiting } = await store.transaction(async ({ client }) => {
      await client.query(`SELECT ${step}`)
      const waiting = sql`DELETE FROM training.samples WHERE activity_id = ${activityId} RETURNING 1 AS one`
      await eventually(async () => (await queryOnce(url, WAITING_FOR_LOCK)).length > 0)
      return { waiting }
    })
    return (await waiting).length
  }
  const moved = await deleteDuring(7, "musette.move_to_partitions('training.samples', 'activity_id', 4, 0)")
  expect(moved).toBe(300)
  expect(await sql`SELECT FROM training.samples WHERE activity_id = 7`).toEqual([])
  await finish()
  await sql`INSERT INTO training.samples (activity_id) VALUES (29)`
  expect(await deleteDuring(29, "musette.add_partition('training.samples', 'activity_id', 4, 7)")).toBe(1)
})

test('activities that are written during the move have what was written last', async () => {
  const { store, sql, keep, finish } = await openMirror()
  const written = new Map(Array.from({ length: RIDES }, (_, ride) => [ride + 1, 300]))
  await sql`INSERT INTO training.activities (account_id, path, listed_at, wanted_at) SELECT 1, 'later' || n, now(), now() FROM generate_series(1, 9) n`
  const write = async () => {
    for (let round = 1; round <= 3; round++)
      for (let id = RIDES + 9; id > 0; id -= round) {
        const count = (id * 37 * round) % 400
        await store.transaction((tx) => replaceSamples(tx, id, makeSamples(count)))
        written.set(id, count)
      }
  }
  const looks = async () => {
    for (let look = 0; look < 12; look++) await keep()
  }
  await Promise.all([write(), looks()])
  await finish()
  const held =
    await sql`SELECT activity_id, count(*)::int AS rows, count(DISTINCT t)::int AS times FROM training.samples GROUP BY 1 ORDER BY 1`
  const wanted = [...written].filter(([, rows]) => rows > 0).sort(([a], [b]) => a - b)
  expect(held).toEqual(wanted.map(([activity_id, rows]) => ({ activity_id, rows, times: rows })))
})

test('rows without a partition are readable, and move to it once it exists', async () => {
  const { sql, keep, finish } = await openMirror()
  await finish()
  await sql`INSERT INTO training.activities (account_id, path, listed_at, wanted_at) SELECT 1, 'later' || n, now(), now() FROM generate_series(1, 20) n`
  await sql`INSERT INTO training.samples (activity_id) VALUES (5), (29), (30)`
  const places = () =>
    sql`SELECT activity_id, tableoid::regclass::text AS place FROM training.samples WHERE t IS NULL ORDER BY 1`
  expect((await places()).map(({ place }) => place)).toEqual([
    'musette.samples_1',
    'musette.samples_rest',
    'musette.samples_rest',
  ])
  expect(await keep()).toBe(false)
  expect((await places()).map(({ place }) => place)).toEqual([
    'musette.samples_1',
    'musette.samples_7',
    'musette.samples_7',
  ])
  expect(await sql`SELECT to_regclass('musette.samples_8') IS NOT NULL AS ahead`).toEqual([{ ahead: true }])
})

/** Objects that musette did not create, each with its name in DROP and in the log. */
const OBSTACLES = [
  ['create publication p for table training.samples', 'publication p'],
  ['create publication p for tables in schema training', 'publication p'],
  [
    'create trigger mine before update on training.samples for each row execute function suppress_redundant_updates_trigger()',
    'trigger mine',
  ],
  ['create rule mine as on update to training.samples do instead nothing', 'rule mine'],
  ['create statistics mine on power, hr from training.samples', 'statistics mine'],
  ['create policy mine on training.samples', 'policy mine'],
  ['create table public.mine () inherits (training.samples)', 'table public.mine'],
  [
    'create materialized view public.mine as select power from training.samples',
    'materialized view public.mine',
  ],
  [
    "create function public.mine(training.samples) returns real language sql as 'select 1'",
    'function public.mine(training.samples)',
  ],
] as const

test('a table with objects that cannot move is not partitioned, and the log names them', async () => {
  const { store, sql, keep, finish, log } = await openMirror()
  for (const [made, named] of OBSTACLES) {
    await store.execute(made)
    expect(await keep(), named).toBe(false)
    expect(log.lines.at(-1)?.msg).toContain(`because of ${named}, which musette did not create`)
    await store.execute(`drop ${named}${/^(trigger|rule|policy)/.test(named) ? ' on training.samples' : ''}`)
  }
  expect(await sql`SELECT FROM pg_inherits WHERE inhparent = 'training.samples'::regclass`).toEqual([])
  await store.execute('create view public.mine as select activity_id, power from training.samples')
  await store.execute('create index mine on training.samples (power)')
  await finish()
  expect(await sql`SELECT FROM public.mine`).toHaveLength(RIDES * 300)
  expect(await sql`SELECT FROM pg_indexes WHERE schemaname = 'training' AND indexname = 'mine'`).toHaveLength(
    1,
  )
})

test('partitioning keeps all rights on the table and its columns', async () => {
  const { store, sql, finish } = await openMirror()
  const rights = () =>
    sql`SELECT relacl, (SELECT array_agg(attacl ORDER BY attname) FROM pg_attribute WHERE attrelid = c.oid AND attacl IS NOT NULL) AS columns
      FROM pg_class c WHERE oid = 'training.samples'::regclass`
  await store.execute(
    `GRANT SELECT, UPDATE ON training.samples TO musette_reader WITH GRANT OPTION;
     GRANT SELECT (power), UPDATE (hr) ON training.samples TO musette_reader WITH GRANT OPTION;
     GRANT SELECT (cad), INSERT (t) ON training.samples TO PUBLIC`,
  )
  const before = await rights()
  expect(JSON.stringify(before)).toContain('r*')
  await finish()
  expect(await rights()).toEqual(before)
})

test('a small mirror is not partitioned, and partitions made by a person stay', async () => {
  const { store, sql, kindOf, keep } = await openMirror()
  expect(await makePartitions({ store, log: makeTestLog().log }, { keys: RIDES + 1 }).keep()).toBe(false)
  expect(await kindOf()).toBe('r')
  await store.execute(`ALTER TABLE training.samples RENAME TO samples_0; CREATE TABLE training.samples (LIKE training.samples_0) PARTITION BY RANGE (activity_id);
    ALTER TABLE training.samples ATTACH PARTITION training.samples_0 FOR VALUES FROM (MINVALUE) TO (MAXVALUE)`)
  expect(await keep()).toBe(false)
  expect(
    await sql`SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'training.samples'::regclass`,
  ).toEqual([{ name: 'training.samples_0' }])
})
