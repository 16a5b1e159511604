import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore, type Store, type Tx } from '../../src/core/store/store.ts'
import { makeSilentLog } from '../kit/log.ts'
import { findTouched, type Plan, type Touched } from '../kit/plan.ts'
import { openTestDatabase, type TestDatabase } from '../kit/postgres.ts'
import { readWords } from '../kit/table.ts'

const ACCOUNTS = 40
const BIG = { account: 1, activities: 4_000 }
const SMALL = { account: 20, activities: 210 }

/** Many accounts; one of them has a third of all activities. */
const FILL = `
  -- No change feed and no foreign keys, which cost more than the rows.
  set session_replication_role = replica;
  insert into training.accounts (name, base_url) select 'rider ' || n, 'http://127.0.0.1:9' from generate_series(1, ${ACCOUNTS}) n;
  insert into training.activities (account_id, path, activity_type, sport, started_at, timezone, started_at_local, detail_state, listed_at,
    wanted_at, xss, sig_ftp, form)
  select a, 'ride' || n, 'Cycling', 'cycling', s.at, 'UTC', s.at at time zone 'UTC', 'mirrored', now(), now(), n % 90, 250, n % 9
  from generate_series(1, ${ACCOUNTS}) a
  cross join lateral generate_series(1, case a when ${BIG.account} then ${BIG.activities} else ${SMALL.activities} end) n
  cross join lateral (select date_trunc('day', now()) - (n / 3) * interval '3 days' as at) s
  order by a, n;
  insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
  select activity_id, duration_s, 300, account_id, date_part('year', started_at_local), started_at_local, sport
  from training.activities, unnest('{5, 60, 300, 1200}'::int[]) as duration_s order by activity_id;
  insert into training.activity_intensity (activity_id, ftp, power_z1_s, hr_peak, hr_at_least_s, account_id, day, month)
  select activity_id, 250, 9, 150, '{9, 8}', account_id, started_at_local::date, date_trunc('month', started_at_local)
  from training.activities order by activity_id;
  insert into training.ride_measures (activity_id, account_id, mean_power)
  select activity_id, account_id, 200 from training.activities order by activity_id;
  insert into training.activity_revisions (activity_id, observed_at, changes)
  select activity_id, now(), '{"xss": [50, 51]}' from training.activities where activity_id % 3 = 0;
  insert into training.sync_runs (account_id, resource, kind, started_at, outcome)
  select a, 'activities', kind, now() - n * interval '15 minutes', 'done'
  from generate_series(1, ${ACCOUNTS}) a, unnest('{poll, fetch, reconcile}'::text[]) as kind, generate_series(1, 100) n;
  insert into training.training_info (account_id, observed_at, last_seen_at, target_total)
  select a, now() - n * interval '2 days', now() - n * interval '2 days', 60
  from generate_series(1, ${ACCOUNTS}) a, generate_series(1, 100) n;
  insert into training.uploads (account_id, content_id, file_name, size_bytes, state, activity_id, seen_at)
  select account_id, 'file' || activity_id, 'ride.fit', 1, 'mirrored', activity_id, started_at from training.activities;
  insert into training.upload_copies (account_id, content_id, file_name, seen_at)
  select account_id, content_id, 'copy.fit', seen_at from training.uploads;
  insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at)
  select account_id, content_id, 1, 1, 1, '{}', now() from training.uploads;
  insert into training.fit_laps (account_id, content_id, position, fields)
  select account_id, content_id, 1, '{}' from training.fit_files;
  insert into training.fit_originals (account_id, content_id, encoding, body)
  select account_id, content_id, 'gzip', '' from training.fit_files;
  insert into training.workouts (account_id, path, changed_at) select account_id, 'w' || n, now()
  from training.accounts, generate_series(1, 30) n;
  insert into training.form_constants (account_id, load, system, activities_used, activities_known, fitted_at, inputs)
  select account_id, load, system, 0, 0, now(), repeat('x', 300)
  from training.accounts, unnest('{training,recovery}'::text[]) load, unnest('{low,high,peak}'::text[]) system`

/** Otherwise autovacuum analyzes tables while the tests of a never analyzed database run. */
const WITHOUT_AUTOVACUUM = `do $$
  declare filled regclass;
  begin
    for filled in select oid::regclass from pg_class where relnamespace = 'training'::regnamespace and relkind = 'r' loop
      execute format('alter table %s set (autovacuum_enabled = false)', filled);
    end loop;
  end $$`

const VIEWS = `totals streaks today daily_load weekly_summary power_bests ride_intensity ride_overview zones_by_week mirror_health
  recalculations recommended_weeks this_week form_now form_by_day form_today planned_load`

type Read = readonly [sql: string, most: number, table?: string]

/** Each read, and the maximum number of rows that it may touch in each table, or in a named table. */
const READS: readonly Read[] = [
  ...[SMALL, BIG].flatMap(({ account, activities }): Read[] => [
    // daily_load and mirror_health count a row twice, ride_overview a file with its upload, and a month reads the twelve months before it.
    ...readWords(VIEWS).flatMap((view): Read[] => [
      [`training.${view} where account_id = ${account}`, 2 * activities],
      [`training.${view} where account = 'rider ${account}'`, 2 * activities],
      [
        `training.accounts a join training.${view} v using (account_id) where a.name = 'rider ${account}'`,
        2 * activities,
      ],
    ]),
    // One index entry for each season and duration, regardless of the number of activities.
    [
      `training.power_bests where account_id = ${account} and span <> 'last 90 days'`,
      Math.ceil(activities / 365 + 2) * 62,
      'power_curves',
    ],
  ]),
  ...['ride_files', 'ride_laps'].flatMap((view): Read[] => [
    [`training.${view} where account_id = ${SMALL.account}`, 2 * SMALL.activities],
    [`training.${view} where activity_id = 777`, 2],
  ]),
  ['training.ride_intensity where activity_id = 777', BIG.activities],
]

let database: TestDatabase
let store: Store
beforeAll(async () => {
  database = await openTestDatabase()
  store = openStore({ log: makeSilentLog() }, { connectionString: database.url })
  await store.execute(WITHOUT_AUTOVACUUM)
  await store.execute(FILL)
})
afterAll(async () => {
  await store?.close()
  await database?.close()
})

async function explain(tx: Tx, text: string, values: unknown[] = []): Promise<Touched[]> {
  const { rows } = await tx.client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (analyze, timing off, format json) ${text}`,
    values,
  )
  return findTouched(rows[0]?.['QUERY PLAN'][0].Plan)
}

/** Expects that no table but accounts is read in full or for more than `most` rows. */
function expectRead(touched: readonly Touched[], most: number, what: string): void {
  const large = touched.filter(({ table }) => table !== 'accounts')
  expect(large.length, what).toBeGreaterThan(0)
  expect(
    large.filter(({ whole, rows }) => whole || rows > most),
    what,
  ).toEqual([])
}

it.each(['never analyzed', 'analyzed'])(
  'in a database %s each view reads only one account, by its id or its name',
  async (state) => {
    if (state === 'analyzed') await store.execute('analyze')
    for (const [sql, most, table] of READS)
      await store.read(async (tx) => {
        const touched = await explain(tx, `select * from ${sql}`)
        expectRead(
          touched.filter((one) => table === undefined || one.table === table),
          most,
          sql,
        )
      })
  },
)
