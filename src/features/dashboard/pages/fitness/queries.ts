import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../../../core/store/store.ts'
import type { Sent } from '../../shared/sent.ts'
import { chooseSport } from '../account-choices.ts'
import { findFitnessNow, findFormToday, findSeasons } from '../fitness-now.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findFitness>

/**
 * Finds the content of the fitness page. Weeks and bests cover one sport, see chooseSport. Returns undefined if the account does not exist.
 */
export async function findFitness(
  { store }: Pick<PagesApp, 'store'>,
  input: { accountId?: number | undefined; season?: number | undefined; sport?: string | undefined },
) {
  return await store.read(async (tx) => {
    const chosen = await chooseSport(tx, input)
    if (!chosen) return undefined
    const key = chosen.account_id ?? 0
    const { sport } = chosen
    const seasons = await findSeasons(tx, key)
    const season = input.season ?? seasons[0] ?? null
    const load = await findLoad(tx, key)
    return {
      ...chosen,
      now: (await findFitnessNow(tx, key)) ?? null,
      signature: await findColumns(tx, {
        names: SIGNATURE,
        accountId: key,
        from: 'training.fitness_history',
      }),
      load,
      weeks: await findWeeks(tx, { accountId: key, sport, load }),
      seasons,
      /** the season of `best` */
      season,
      best: await findBests(tx, { accountId: key, season, sport }),
    }
  })
}

const DAY_S = 86_400
const SIGNATURE = ['ftp', 'hie_kj', 'pp', 'ltp'] as const
/** One array for each quantity. `at` has the rider's days, ascending, as seconds from 1970 to 0:00 UTC of the day. */
type TimeColumns<Name extends string> = Record<Name, Array<number | null>> & { at: number[] }
/** The loads and the form, for which the service document gives no units. */
const LOADS = ['training_load', 'recovery_load', 'form'] as const
/** The training load and the form on coming days: with the planned load, and with rest. */
const AHEAD = ['training_ahead', 'form_ahead', 'form_rest'] as const
type LoadColumns = TimeColumns<(typeof LOADS)[number]>

/** SQL: the derived loads of each day until today, and of the next three weeks. */
const DERIVED = `(
  select f.account_id, f.day, f.at, tl_total as training_load, rl_total as recovery_load, form,
    case when f.day = t.day then tl_total end as training_ahead, case when f.day = t.day then form end as form_ahead,
    case when f.day = t.day then form end as form_rest
  from training.form_by_day f join training.today t using (account_id, account)
  union all
  select t.account_id, t.day + n, p.at, null, null, null, p.tl_total, p.form, r.form
  from training.today t
  cross join lateral (select coalesce(jsonb_agg(l), '[]') as plan from training.planned_load l where l.account_id = t.account_id) l
  cross join generate_series(1, 21) as n
  cross join lateral training.form_on(t.day + n, l.plan, t.account_id) p
  cross join lateral training.form_on(t.day + n, '[]', t.account_id) r
  where r.form is not null) known`

/**
 * Finds an account's loads and form on each past and coming day. The values are derived or, if no constants fit the rides, the values that
 * the service reported.
 */
async function findLoad(tx: Tx, accountId: number) {
  const derived = await findColumns(tx, { names: [...LOADS, ...AHEAD], accountId, from: DERIVED })
  const isDerived = derived.form.some((value) => value !== null)
  const today = derived.form_rest.findIndex((value) => value !== null)
  return {
    columns: isDerived ? derived : await findAnsweredColumns(tx, accountId),
    is_derived: isDerived,
    /** why today's form is unknown; null if it is known */
    reason: (await findFormToday(tx, accountId))?.reason ?? null,
    // The lines for coming days begin with today.
    days_ahead: today < 0 ? 0 : derived.at.length - 1 - today,
  }
}

/**
 * Finds an account's loads and form on each day as the service last reported them, with activities and, for the training load, with training
 * info. Interpolates linearly on days without a report.
 */
async function findAnsweredColumns(tx: Tx, accountId: number): Promise<LoadColumns> {
  const known = await findColumns(tx, {
    names: LOADS,
    accountId,
    from: `(select account_id, day, at, tl_total as training_load, rl_total as recovery_load, form from training.form_history
            union all
            select account_id, training.local_day(last_seen_at, timezone), last_seen_at, tl_total, null, null
            from training.training_info join training.today using (account_id)) known`,
  })
  const first = known.at[0] ?? 0
  const places = known.at.map((at) => Math.round((at - first) / DAY_S))
  const at = Array.from({ length: (places.at(-1) ?? -1) + 1 }, (_, day) => first + day * DAY_S)
  const everyDay = (values: ReadonlyArray<number | null>) => {
    const days = at.map((): number | null => null)
    let before: { place: number; value: number } | undefined
    values.forEach((value, index) => {
      const place = places[index] ?? 0
      if (value === null) return
      const from = before ?? { place, value }
      for (let day = from.place; day <= place; day++)
        days[day] = cut(value - ((value - from.value) * (place - day)) / (place - from.place || 1))
      before = { place, value }
    })
    return days
  }
  const lines = LOADS.map((name) => [name, everyDay(known[name])])
  return { ...Object.fromEntries(lines), at } as LoadColumns
}

/**
 * Truncates a number to two decimals, because full precision would be most of the response's size. Does not round, because the page rounds
 * again: 10.46 would become 10.5, then 11.
 */
function cut(value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : Math.trunc(value * 100) / 100
}

/** Finds each day's last known value of the named columns. */
async function findColumns<Name extends string>(
  tx: Tx,
  { names, accountId, from }: { names: readonly Name[]; accountId: number; from: string },
): Promise<TimeColumns<Name>> {
  const { rows } = await tx.client.query<[number, ...Array<number | null>]>({
    text: `select extract(epoch from day)::float8, ${names.map(lastOf).join(', ')} from ${from}
           where account_id = $1 and day is not null group by day order by day`,
    values: [accountId],
    rowMode: 'array',
  })
  const columns = Object.fromEntries(
    names.map((name, index) => [name, rows.map((row) => cut(row[index + 1]))]),
  ) as Record<Name, Array<number | null>>
  return { ...columns, at: rows.map(([at]) => at) }
}

const lastOf = (name: string) => `(array_agg(${name} order by at desc) filter (where ${name} is not null))[1]`

/** A best mean power, W, with its activity and local day. */
type Best = { watts: number; activity_id: number; day: string | null }
/** The best mean powers over one duration: the best of all time, of a season (calendar year), and of the last 90 days. */
type BestPoint = { duration_s: number } & Record<'all_time' | 'season' | 'last_90_days', Best | null>

/** Finds an account's best mean powers by duration, of all time, a season and the last 90 days, in one sport or all sports. */
export async function findBests(tx: Tx, input: { accountId: number; season: number | null; sport: string }) {
  const { accountId, season, sport } = input
  const best = (rule: SQL) =>
    sql`(jsonb_agg(jsonb_build_object('watts', watts, 'activity_id', activity_id, 'day', day) order by watts desc) filter (where ${rule})) -> 0`
  return rowsOf<BestPoint>(tx)`
     select duration_s, ${best(sql`span = 'all time'`)} as all_time, ${best(sql`span = 'season' and season = ${season}`)} as season,
       ${best(sql`span = 'last 90 days'`)} as last_90_days
     from training.power_bests where account_id = ${accountId} and ${sport} in ('all', sport) group by duration_s order by duration_s`
}

/** The sums of a week; `monday` is seconds from 1970 to 0:00 UTC of the Monday. */
type Week = Record<'monday' | 'activities' | 'low' | 'high' | 'peak' | 'xss', number> & {
  /** sum of the seven daily recommendations; null unless all are known */
  recommended: number | null
}

/**
 * Finds every week of an account from the first activity to today, oldest first, with sums of one sport or all sports. `xss` exceeds the
 * sum of its parts if the service sent no parts for an activity. The recommendation and the training load, at the end of the week or now,
 * cover all sports. The ramp is null unless the loads of both weeks are known.
 */
async function findWeeks(
  tx: Tx,
  input: { accountId: number; sport: string; load: Awaited<ReturnType<typeof findLoad>> },
) {
  const { accountId, sport } = input
  const { days_ahead: ahead, columns } = input.load
  const rows = await rowsOf<Week>(tx)`
     select extract(epoch from d.week)::float8 as monday, coalesce(sum(w.activities), 0)::int as activities,
       coalesce(sum(w.low_xss), 0)::float8 as low, coalesce(sum(w.high_xss), 0)::float8 as high,
       coalesce(sum(w.peak_xss), 0)::float8 as peak, coalesce(sum(w.xss), 0)::float8 as xss, min(r.xss) as recommended
     from (select distinct training.week_of(day) as week from training.daily_load where account_id = ${accountId}) d
     left join training.weekly_summary w on w.account_id = ${accountId} and w.week = d.week and ${sport} in ('all', w.sport)
     left join training.recommended_weeks r on r.account_id = ${accountId} and r.week = d.week
     group by d.week order by d.week`
  const loadOf = (monday: number) => {
    const sunday = Math.round((monday - (columns.at[0] ?? 0)) / DAY_S) + 6
    return columns.training_load[Math.min(sunday, columns.at.length - 1 - ahead)] ?? null
  }
  return rows.map((row, index) => {
    const week = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cut(value)])) as Week
    const [now, before] = [loadOf(row.monday), index > 0 ? loadOf(rows[index - 1]?.monday ?? 0) : null]
    return { ...week, load: now, ramp: now === null || before === null ? null : now - before }
  })
}
