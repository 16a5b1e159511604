import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store, type Tx } from '../../src/core/store/store.ts'
import { findBestsOfSpan, findNeighbours } from '../../src/features/dashboard/pages/activity/queries.ts'
import { findBests } from '../../src/features/dashboard/pages/fitness/queries.ts'
import { findActivityLines, findUploadLines } from '../../src/features/dashboard/pages/today/queries.ts'
import { makeSilentLog } from '../kit/log.ts'
import { findTouched, type Plan, type Touched } from '../kit/plan.ts'
import { openTestDatabase, type TestDatabase } from '../kit/postgres.ts'

const ACCOUNTS = 100
const BIG = 1
const BIG_ACTIVITIES = 10_000
const SMALL = 50
const SMALL_ACTIVITIES = 210
const FILLING_MS = 300_000
const LINES = 15

/** Many accounts, one of them with a third of all activities; whatever can tie does: watts, and starts by the day. */
const FILL = `
  -- No change feed and no foreign keys, which cost more than the rows.
  set session_replication_role = replica;
  insert into training.accounts (name, base_url) select 'rider ' || n, 'http://127.0.0.1:9' from generate_series(1, ${ACCOUNTS}) n;
  insert into training.activities (account_id, path, activity_type, sport, started_at, timezone, started_at_local, detail_state, listed_at,
    wanted_at, xss, sig_ftp, form)
  select a, 'ride' || n, 'Cycling', 'cycling', s.at, 'UTC', s.at at time zone 'UTC', 'mirrored', now(), now(), n % 90, 250, n % 9
  from generate_series(1, ${ACCOUNTS}) a
  cross join lateral generate_series(1, case a when ${BIG} then ${BIG_ACTIVITIES} else ${SMALL_ACTIVITIES} end) n
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
  select account_id, content_id, 'gzip', '' from training.fit_files`

/** Else autovacuum analyzes one table or another while the tests of a database that was never analyzed run. */
const WITHOUT_AUTOVACUUM = `do $$
  declare filled regclass;
  begin
    for filled in select oid::regclass from pg_class where relnamespace = 'training'::regnamespace and relkind = 'r' loop
      execute format('alter table %s set (autovacuum_enabled = false)', filled);
    end loop;
  end $$`

const VIEWS = [
  'today',
  'daily_load',
  'weekly_summary',
  'power_bests',
  'ride_intensity',
  'ride_overview',
  'zones_by_week',
  'mirror_health',
  'recalculations',
  'recommended_weeks',
  'this_week',
  'form_now',
] as const

let database: TestDatabase
let store: Store

beforeAll(async () => {
  database = await openTestDatabase()
  store = openStore({ log: makeSilentLog() }, { connectionString: database.url })
  await store.execute(WITHOUT_AUTOVACUUM)
  await store.execute(FILL)
}, FILLING_MS)

afterAll(async () => {
  await store?.close()
  await database?.close()
})

async function touchedBy(text: string, values: unknown[] = []): Promise<Touched[]> {
  return await store.read((tx) => explain(tx, text, values))
}

async function explain(tx: Tx, text: string, values: unknown[] = []): Promise<Touched[]> {
  const { rows } = await tx.client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (analyze, timing off, format json) ${text}`,
    values,
  )
  return findTouched(rows[0]?.['QUERY PLAN'][0].Plan)
}

/** Tables that an account has many rows in, and no table is read from end to end. */
function expectRead(touched: readonly Touched[], most: number): void {
  const large = touched.filter(({ table }) => table !== 'accounts')
  expect(large.filter(({ whole }) => whole)).toEqual([])
  expect(large.filter(({ rows }) => rows > most)).toEqual([])
}

describe.each(['never analyzed', 'analyzed'])('in a database %s', (state) => {
  beforeAll(async () => {
    if (state === 'analyzed') await store.execute('analyze')
  }, FILLING_MS)

  describe.each([
    { account: SMALL, activities: SMALL_ACTIVITIES },
    { account: BIG, activities: BIG_ACTIVITIES },
  ])('an account of $activities activities', ({ account, activities }) => {
    // A row of daily_load and mirror_health is counted twice, a file of ride_overview with its upload; a month looks at the twelve before it.
    it.each(VIEWS)('is all that %s reads by its number', async (view) => {
      expectRead(
        await touchedBy(`select * from training.${view} where account_id = ${account}`),
        2 * activities,
      )
    })

    it.each(VIEWS)('is all that %s reads by its name', async (view) => {
      const text = `select v.* from training.accounts a join training.${view} v using (account_id) where a.name = $1`
      expectRead(await touchedBy(text, [`rider ${account}`]), 2 * activities)
      const byItsOwn = `select * from training.${view} where account = $1`
      expectRead(await touchedBy(byItsOwn, [`rider ${account}`]), 2 * activities)
    })

    it('costs power_bests one index entry for each season and duration, however many activities it has', async () => {
      const touched = await touchedBy(
        `select * from training.power_bests where account_id = ${account} and span <> 'last 90 days'`,
      )
      const [seasons, durations] = [Math.ceil(activities / 365 + 2), 62]
      const points = touched.filter(({ table }) => table === 'power_curves').map(({ rows }) => rows)
      expect(points.length).toBeGreaterThan(0)
      expect(points.filter((rows) => rows > seasons * durations)).toEqual([])
    })
  })

  it.each(['ride_files', 'ride_laps'])(
    '%s reads the files of one account, or of one activity',
    async (view) => {
      expectRead(
        await touchedBy(`select * from training.${view} where account_id = ${SMALL}`),
        2 * SMALL_ACTIVITIES,
      )
      expectRead(await touchedBy(`select * from training.${view} where activity_id = 777`), 2)
    },
  )

  it('ride_intensity reads at most one account for one activity', async () => {
    const touched = await touchedBy('select * from training.ride_intensity where activity_id = 777')
    expectRead(touched, BIG_ACTIVITIES)
  })
})

describe('a page of the dashboard', () => {
  beforeAll(() => store.execute('analyze'), FILLING_MS)

  it('reads only the rows that it shows, also with equal starts, watts and times', async () => {
    const read = async (page: (tx: Tx) => Promise<unknown>) => {
      const touched: Touched[] = []
      await store.read(async (tx) => {
        const client = Object.assign(Object.create(tx.client), {
          query: async (text: string, values: unknown[]) => {
            touched.push(...(await explain(tx, text, values)))
            return await tx.client.query(text, values)
          },
        })
        await page({ ...tx, client })
      })
      expect(touched).not.toEqual([])
      return touched
    }
    const [{ activity_id: middle } = {}] = await store.read(
      async (tx) =>
        (await tx.client.query(`select activity_id from training.activities where path = 'ride5000'`)).rows,
    )
    expectRead(await read((tx) => findActivityLines(tx, { limit: LINES })), LINES)
    // Two tables, each by its index, and then the rows of the lines themselves.
    expectRead(await read((tx) => findUploadLines(tx, { limit: LINES })), 2 * LINES)
    expectRead(await read((tx) => findNeighbours(tx, middle)), 3)
    const season = new Date().getUTCFullYear() - 3
    expectRead(
      await read((tx) => findBestsOfSpan(tx, { accountId: BIG, sport: 'cycling', span: 'season', season })),
      BIG_ACTIVITIES / 2,
    )
    expectRead(
      await read((tx) => findBests(tx, { accountId: BIG, season, sport: 'all' })),
      BIG_ACTIVITIES / 2,
    )
  })
})
