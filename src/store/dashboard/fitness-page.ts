import type { Tx } from '../store.ts'
import type {
  BestPoint,
  FitnessNow,
  LoadColumns,
  SignatureColumns,
  TimeColumns,
  WeekColumns,
} from './page-rows.ts'

/** Finds an account's fitness from the newest training info (service document, endpoint 3); undefined before the first. */
export async function findFitnessNow(tx: Tx, accountId: number): Promise<FitnessNow | undefined> {
  const { rows } = await tx.client.query<FitnessNow>(
    `select last_seen_at as seen_at, status, weight_kg, ftp, ltp, hie as hie_kj, pp, tl_total, target_total
     from training.training_info where account_id = $1 order by observed_at desc limit 1`,
    [accountId],
  )
  return rows[0]
}

/** Finds an account's signature over time, oldest first, one array a quantity; `at` is seconds since 1970. */
export async function findSignatureColumns(tx: Tx, accountId: number): Promise<SignatureColumns> {
  const names = ['ftp', 'hie_kj', 'pp', 'ltp'] as const
  return await findColumns(tx, {
    names,
    accountId,
    text: `select extract(epoch from at)::float8, ftp, hie_kj, pp, ltp from training.fitness_history
           where account_id = $1 and at is not null order by at`,
  })
}

/** Finds an account's loads and form after each activity, oldest first, one array a quantity; `at` is seconds since 1970. */
export async function findLoadColumns(tx: Tx, accountId: number): Promise<LoadColumns> {
  const names = ['training_load', 'recovery_load', 'form'] as const
  return await findColumns(tx, {
    names,
    accountId,
    text: `select extract(epoch from at)::float8, tl_total, rl_total, form from training.form_history
           where account_id = $1 and at is not null order by at`,
  })
}

/** Runs a query whose first column is the time and whose other columns have the names, and returns its columns. */
async function findColumns<Name extends string>(
  tx: Tx,
  input: { names: readonly Name[]; accountId: number; text: string },
): Promise<TimeColumns<Name>> {
  const { rows } = await tx.client.query<[number, ...Array<number | null>]>({
    text: input.text,
    values: [input.accountId],
    rowMode: 'array',
  })
  const columns = Object.fromEntries(
    input.names.map((name, index) => [name, rows.map((row) => row[index + 1] ?? null)]),
  ) as Record<Name, Array<number | null>>
  return { ...columns, at: rows.map(([at]) => at) }
}

/** Finds the seasons of an account, calendar years with a power curve, newest first. */
export async function findSeasons(tx: Tx, accountId: number): Promise<number[]> {
  const { rows } = await tx.client.query<{ season: number }>(
    `select distinct season from training.power_bests where account_id = $1 and span = 'season' order by season desc`,
    [accountId],
  )
  return rows.map(({ season }) => season)
}

/** Finds an account's best mean powers of all time, of a season and of the last 90 days, by duration. */
export async function findBests(
  tx: Tx,
  { accountId, season }: { accountId: number; season: number | null },
): Promise<BestPoint[]> {
  const best = (rule: string) =>
    `(jsonb_agg(jsonb_build_object('watts', watts, 'activity_id', activity_id, 'day', day) order by watts desc) filter (where ${rule})) -> 0`
  const { rows } = await tx.client.query<BestPoint>(
    `select duration_s, ${best(`span = 'all time'`)} as all_time, ${best(`span = 'season' and season = $2`)} as season,
       ${best(`span = 'last 90 days'`)} as last_90_days
     from training.power_bests where account_id = $1 group by duration_s order by duration_s`,
    [accountId, season],
  )
  return rows
}

/**
 * Finds an account's weeks from the first activity to today, quiet ones too; `monday` is seconds since 1970, 0:00 UTC. The
 * recommendation of a day is that of the newest training info up to its end, and of days to come the present one.
 */
export async function findWeekColumns(tx: Tx, accountId: number): Promise<WeekColumns> {
  const { rows } = await tx.client.query<
    [number, number, number, number, number, number, number | null, number | null]
  >({
    text: `with weeks as (
        select date_trunc('week', day::timestamp) as monday, sum(activities)::int as activities,
          coalesce(sum(low_xss), 0)::float8 as low, coalesce(sum(high_xss), 0)::float8 as high,
          coalesce(sum(peak_xss), 0)::float8 as peak, coalesce(sum(xss), 0)::float8 as xss
        from training.daily_load where account_id = $1 group by 1
      ), recommended as (
        select date_trunc('week', d.day) as monday, sum(i.target_total) as xss
        from training.today t
        cross join lateral generate_series(
          (select min(observed_at at time zone t.timezone)::date from training.training_info where account_id = $1)::timestamp,
          date_trunc('week', t.day::timestamp) + interval '6 days', interval '1 day') d (day)
        cross join lateral (
          select target_total from training.training_info n
          where n.account_id = $1 and n.observed_at at time zone t.timezone < d.day + interval '1 day'
          order by n.observed_at desc limit 1
        ) i
        where t.account_id = $1 group by 1 having count(i.target_total) = 7
      ), loads as (
        select distinct on (1) date_trunc('week', day::timestamp) as monday, tl_total
        from training.form_history where account_id = $1 and tl_total is not null order by 1, at desc
      )
      select extract(epoch from w.monday)::float8, w.activities, w.low, w.high, w.peak, w.xss, r.xss, l.tl_total
      from weeks w left join recommended r using (monday) left join loads l using (monday) order by w.monday`,
    values: [accountId],
    rowMode: 'array',
  })
  return {
    monday: rows.map(([monday]) => monday),
    activities: rows.map((row) => row[1]),
    low_xss: rows.map((row) => row[2]),
    high_xss: rows.map((row) => row[3]),
    peak_xss: rows.map((row) => row[4]),
    xss: rows.map((row) => row[5]),
    recommended_xss: rows.map((row) => row[6]),
    training_load: rows.map((row) => row[7]),
  }
}
