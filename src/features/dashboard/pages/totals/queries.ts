import type { Sent } from '../../shared/sent.ts'
import { chooseSport } from '../account-choices.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findTotals>
type Chosen = Parameters<typeof chooseSport>[1]
type Numbers<Name extends string> = Record<Name, number | null>
type Total = {
  at: number
  span: 'month' | 'season' | 'season to date'
  activities: number
  days: number
} & Numbers<'distance' | 'moving_s' | 'elapsed_s' | 'climbed_m' | 'work_kj' | 'xss'>
type Streak = { unit: 'day' | 'week'; is_current: boolean; length: number; first: string; last: string }
type Best = { id: number; name: string | null; day: string } & Numbers<
  'medal' | 'ftp' | 'ftp_change' | 'hie_change' | 'pp_change'
>

/** Finds an account's totals in one sport, see chooseSport; undefined if the account does not exist. `at` is the first day, s since 1970. */
export async function findTotals({ store }: Pick<PagesApp, 'store'>, input: Chosen) {
  return await store.read(async (tx) => {
    const chosen = await chooseSport(tx, input)
    if (!chosen) return undefined
    const { account_id: id, sport } = chosen
    return {
      ...chosen,
      totals: await rowsOf<Total>(tx)`
        select extract(epoch from first_day)::float8 as at, span, activities, days, distance, moving_s, elapsed_s,
          total_elevation_gain as climbed_m, work_kj, xss
        from training.totals where account_id = ${id} and sport = ${sport} order by first_day desc`,
      streaks: await rowsOf<Streak>(tx)`
        select distinct on (unit, is_current) unit, is_current, length, first_day::text as first, last_day::text as last
        from training.streaks where account_id = ${id} and sport = ${sport} order by unit, is_current desc, length desc, first_day desc`,
      records: await rowsOf<Best>(tx)`
        select activity_id as id, name, day::text, medal, ftp_after as ftp, ftp_change, atc_change / 1000 as hie_change, pp_change
        from training.records where account_id = ${id} and sport = ${sport} and day is not null order by day desc, activity_id desc limit 50`,
      /** seconds in each power zone, by week; `at` is the Monday */
      zones: await rowsOf<{ at: number; power_s: Array<number | null> }>(tx)`
        select extract(epoch from week)::float8 as at,
          array[power_z1_s, power_z2_s, power_z3_s, power_z4_s, power_z5_s, power_z6_s, power_z7_s] as power_s
        from training.zones_by_week where account_id = ${id} and sport = ${sport} and power_z1_s is not null order by week`,
    }
  })
}
