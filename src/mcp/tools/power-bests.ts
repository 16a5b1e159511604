import { z } from 'zod'
import { makeAnswer } from '../answer.ts'
import { account, day, makeTool, text } from './tool.ts'

/** Durations that people speak of, s. */
const USUAL_S = [1, 5, 15, 30, 60, 120, 180, 300, 480, 600, 900, 1_200, 1_800, 2_400, 3_600, 5_400, 7_200]

const BESTS = `
  select distinct on (a.name, c.duration_s) a.name as account, c.duration_s, c.watts as best_w, x.path as activity, x.name,
    x.started_at_local::date::text as day
  from training.power_curves c join training.activities x using (activity_id) join training.accounts a on a.account_id = x.account_id
  where x.absent_since is null and c.duration_s = any ($4::int[]) and ($1::text is null or a.name = $1)
    and ($2::date is null or x.started_at_local >= $2::date) and ($3::date is null or x.started_at_local < $3::date + 1)
  order by a.name, c.duration_s, c.watts desc, x.started_at_local, x.activity_id`

/** Finds the best mean power over a span of days. */
export const powerBests = makeTool({
  name: 'power_bests',
  title: 'Best power over a span',
  description: 'Best mean power for each duration over local days (all time unless given), and its activity.',
  input: z.object({
    account,
    from: day.describe('first day'),
    to: day.describe('last day'),
    durations_s: z.array(z.number().int().min(1).max(86_400)).max(80).default(USUAL_S),
  }),
  output: {
    bests: z.array(
      z.object({
        account: z.string(),
        duration_s: z.number(),
        best_w: z.number(),
        activity: z.string(),
        name: text,
        day: text,
      }),
    ),
  },
  async run({ query }, input) {
    const { from, to, durations_s: durations } = input
    const bests = await query(BESTS, [input.account ?? null, from ?? null, to ?? null, durations])
    return makeAnswer({ data: { bests }, list: 'bests', narrower: 'Name one account and fewer durations_s.' })
  },
})
