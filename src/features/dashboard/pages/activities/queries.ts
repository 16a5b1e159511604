import { and, sql } from 'drizzle-orm'
import { makeFoldedSql } from '../../../../core/store/clean.ts'
import type { Tx } from '../../../../core/store/store.ts'
import { findAccountChoices } from '../account-choices.ts'
import { ACTIVITY_LINE, type ActivityLine } from '../activity-line.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'
import type { Query } from '../send-view.ts'
import { LENGTHS } from './address.ts'

/** SQL of the sort keys, for activities `v`. */
export const SORT_KEYS = {
  started: 'v.started_at_local',
  name: 'v.name',
  time: 'v.elapsed_s',
  distance: 'v.distance',
  power: 'v.avg_power',
  xss: 'v.xss',
} as const
export type SortKey = keyof typeof SORT_KEYS

const YES = { type: 'string', enum: ['yes'] } as const
/** JSON schemas of the list's filters; a missing filter does not apply. */
export const FILTER = {
  /** words, each of which must be in the name or the description */
  search: { type: 'string', maxLength: 200 },
  account: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
  type: { type: 'string', maxLength: 200 },
  /** year of the local start; `day` is the local day */
  year: { type: 'integer', minimum: 1, maximum: 9_999 },
  day: { type: 'string', format: 'date' },
  length: { type: 'string', enum: LENGTHS.map(({ name }) => name) },
  breakthrough: YES,
  power: { type: 'string', enum: ['yes', 'no'] },
  /** includes activities that the service no longer lists */
  absent: YES,
} as const
type ActivityFilter = Query<typeof FILTER>

/**
 * The order of a list. An activity without a value in the sort column comes last in both directions. The rider's `language`, such as `sv`,
 * sets the collation.
 */
type ActivityOrder = { sort: SortKey; descending: boolean; language?: string | undefined }

/** A page of a list of activities, and the sums of the whole list. */
type ActivityPage = {
  total: number
  /** matching activities that the service no longer lists */
  absent: number
  /** activities that are not fetched yet; the sums leave these out */
  to_fetch: number
  elapsed_s: number
  distance_km: number
  xss: number
  lines: ListedLine[]
}
type ListedLine = ActivityLine & { absent: boolean; description: string | null }

/** Finds a page of a filtered list, starting at `offset`, and the sums of the whole list. */
export async function findActivityPage(
  tx: Tx,
  input: { filter: ActivityFilter; order: ActivityOrder; offset: number; limit: number },
): Promise<ActivityPage> {
  const { filter, order, offset, limit } = input
  const direction = sql.raw(order.descending ? 'desc' : 'asc')
  const collation = order.sort === 'name' ? `collate ${await findCollation(tx, order.language)}` : ''
  // Sorts only ids and sort keys, because full rows are wide, and then reads the full rows of this page.
  const rows = await rowsOf<ActivityPage>(tx)`
     with matched as materialized (
       select v.activity_id, v.absent_since is not null as gone, v.fetched_at is null as unfetched, ${sql.raw(`${SORT_KEYS[order.sort]} ${collation}`)} as key, v.elapsed_s, v.distance, v.xss
       from training.activities v where ${makeCondition(filter)}
     ), shown as (
       select * from matched where not gone or ${filter.absent === 'yes'}
     ), page as (
       select activity_id, row_number() over (order by key ${direction} nulls last, activity_id ${direction}) as place
       from (
         select activity_id, key from shown order by key ${direction} nulls last, activity_id ${direction}
         limit ${limit} offset ${offset}
       ) part
     )
     select count(*)::int as total, count(*) filter (where unfetched)::int as to_fetch, coalesce(sum(elapsed_s), 0)::float8 as elapsed_s, coalesce(sum(distance), 0)::float8 as distance_km,
       coalesce(sum(xss), 0)::float8 as xss, (select count(*)::int from matched where gone) as absent,
       (select coalesce(json_agg(line order by place), '[]') from (
          select p.place, row_to_json(l) as line from page p cross join lateral (
            select ${ACTIVITY_LINE}, v.absent_since is not null as absent, v.description
            from training.activities v join training.accounts a using (account_id) where v.activity_id = p.activity_id
          ) l
        ) ordered) as lines
     from shown`
  if (!rows[0]) throw new Error('sums return a row')
  return rows[0]
}

/** Finds the quoted ICU collation of a language; returns the root collation if Postgres lacks it. */
async function findCollation(tx: Tx, language: string | undefined): Promise<string> {
  const rows = await rowsOf<{ name: string }>(tx)`
     select quote_ident(collname) as name from pg_collation
     where collprovider = 'i' and collname in (${`${language}-x-icu`}, 'und-x-icu') order by collname = 'und-x-icu' limit 1`
  // Some builds of Postgres lack ICU collations.
  return rows[0]?.name ?? '"default"'
}

const SEARCHED = sql.raw(makeFoldedSql(`concat_ws(' ', v.name, v.description)`))
const WORD = sql.raw(makeFoldedSql('word'))
const POWER = {
  yes: sql`(v.avg_power > 0 or v.max_power > 0)`,
  no: sql`coalesce(v.avg_power, 0) <= 0 and coalesce(v.max_power, 0) <= 0`,
}

/** Makes the SQL condition of a filter on activities `v`. Each word must be in the name or the description. */
function makeCondition({ account, type, year, day, breakthrough, power, ...filter }: ActivityFilter) {
  const words = (filter.search ?? '').split(/\s+/).filter(Boolean)
  // An array in a subquery, so that Postgres folds the words once instead of once per row.
  const folded = sql`array(select ${WORD} from unnest(${sql.param(words)}::text[]) word)`
  const found = sql`not exists (select from unnest(${folded}) word where strpos(${SEARCHED}, word) = 0)`
  const startsWithin = (from: string, part: string) =>
    sql`v.started_at_local >= ${from}::date and v.started_at_local < ${from}::date + ${`1 ${part}`}::interval`
  const { minS, maxS } = LENGTHS.find(({ name }) => name === filter.length) ?? {}
  return and(
    sql`true`,
    words.length > 0 ? found : undefined,
    account === undefined ? undefined : sql`v.account_id = ${account}`,
    type === undefined ? undefined : sql`v.activity_type = ${type}`,
    year === undefined ? undefined : startsWithin(`${year}-01-01`, 'year'),
    day === undefined ? undefined : startsWithin(day, 'day'),
    minS === undefined ? undefined : sql`v.elapsed_s >= ${minS}`,
    maxS === undefined ? undefined : sql`v.elapsed_s < ${maxS}`,
    breakthrough ? sql`v.breakthrough > 0` : undefined,
    power && POWER[power],
  )
}

/** The number of activities of a day or a month, and their sums. A sum is null if no activity has the value. */
type Sums = { activities: number; elapsed_s: number | null; xss: number | null }
type Calendar = { days: Array<Sums & { day: string }>; months: Array<Sums & { month: string }> }

type Facets = { types: string[]; years: number[] }

/** Finds the options of the filters, and the days and months with activities in the selected year, by default the newest year. */
export async function findActivityCalendar({ store }: Pick<PagesApp, 'store'>, filter: ActivityFilter) {
  return await store.read(async (tx) => {
    const { account } = filter
    const accounts = await findAccountChoices(tx, account)
    const [facets = { types: [], years: [] }] = await rowsOf<Facets>(tx)`
     select coalesce(json_agg(distinct activity_type) filter (where activity_type is not null), '[]') as types,
         coalesce(json_agg(distinct year) filter (where year is not null), '[]') as years
       from (select activity_type, training.season_of(started_at_local::date) as year from training.activities v where ${makeCondition({ account })} group by 1, 2) seen`
    const year = filter.year ?? facets.years.at(-1)
    const [calendar = { days: [], months: [] }] = await rowsOf<Calendar>(tx)`
     with days as (
         select v.started_at_local::date::text as day, count(*)::int as activities, sum(v.elapsed_s) as elapsed_s, sum(v.xss) as xss
         from training.activities v
         where ${makeCondition({ ...filter, year, day: undefined })} and ${year !== undefined} and (v.absent_since is null or ${filter.absent === 'yes'})
         group by 1
       ), months as (
         select left(day, 7) as month, sum(activities) as activities, sum(elapsed_s) as elapsed_s, sum(xss) as xss from days group by 1
       )
       select (select coalesce(json_agg(d order by day), '[]') from days d) as days,
         (select coalesce(json_agg(m order by month), '[]') from months m) as months`
    return { accounts, ...facets, year: year ?? null, calendar }
  })
}
