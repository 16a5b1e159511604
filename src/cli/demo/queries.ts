import { queryHouse } from '../../daemon/database.ts'
import type { House } from '../../daemon/house.ts'
import type { Context } from '../context.ts'
import { tableOf } from '../sql/table.ts'

const QUERIES: ReadonlyArray<{ question: string; sql: string }> = [
  {
    question: 'The last five activities:',
    sql: `select started_at_local::date as day, left(name, 28) as name, activity_type as type, sample_count as samples,
  round(avg_power::numeric) as watts, round(xss::numeric) as xss
from training.activities where absent_since is null order by started_at desc nulls last limit 5`,
  },
  {
    question: 'Load and fitness by year:',
    sql: `select extract(year from started_at_local)::int as year, count(*)::int as activities,
  round(sum(xss)::numeric) as xss, round(max(sig_ftp)::numeric) as best_ftp
from training.activities where absent_since is null group by 1 order by 1`,
  },
  {
    question: 'Best mean power over the whole history:',
    sql: `select duration_s as seconds, round(max(watts)::numeric) as watts
from training.power_curves where duration_s in (5, 60, 300, 1200, 3600) group by 1 order by 1`,
  },
]

/** Prints a few questions with the SQL that answers them and the answers. */
export async function printQueries(context: Context, house: House): Promise<void> {
  for (const { question, sql } of QUERIES) {
    const [result] = await queryHouse(house, sql)
    context.print(`\n${question}`)
    context.print(sql.replace(/^/gm, '  '))
    context.print('')
    if (result) context.print(tableOf(result))
  }
}
