import { z } from 'zod'
import { SPORTS } from '../../../core/store/schema/index.ts'
import { account, day, each, makeAnswer, makeTool, makeUnknown, text } from './tool.ts'

/** The durations that riders usually compare, s. */
const USUAL_S = [1, 5, 15, 30, 60, 120, 180, 300, 480, 600, 900, 1_200, 1_800, 2_400, 3_600, 5_400, 7_200]

// Reads the best of each sport, season and duration by one lookup in the index power_curves_best.
const BESTS = `
  select distinct on (s.account, s.place, s.duration_s) s.account, s.sport, s.duration_s, best.watts as best_w, best.path as activity, best.name,
    best.started_at_local::date::text as day
  from (
    select a.account_id, a.name as account, sport, case when $5 = 'all' then 0 else place end as place, season, duration_s
    from training.accounts a
    cross join lateral (
      select min(c.season) as first, max(c.season) as last from training.power_curves c where c.account_id = a.account_id
    ) known
    cross join lateral generate_series(
      greatest(known.first, training.season_of($2::date)), least(known.last, training.season_of($3::date))
    ) season
    cross join unnest($4::int[]) duration_s
    cross join unnest('{${SPORTS.join(',')}}'::text[]) with ordinality as kind (sport, place)
    where ($1::text is null or a.name = $1) and ($5::text is null or $5 in ('all', sport))
  ) s
  cross join lateral (
    select c.watts, x.activity_id, x.path, x.name, x.started_at_local
    from training.power_curves c join training.activities x using (activity_id)
    where c.account_id = s.account_id and c.sport = s.sport and c.season = s.season and c.duration_s = s.duration_s and x.absent_since is null
      and ($2::date is null or x.started_at_local >= $2::date) and ($3::date is null or x.started_at_local < $3::date + 1)
    order by c.watts desc, c.started_at_local, c.activity_id limit 1
  ) best
  order by s.account, s.place, s.duration_s, best.watts desc, best.started_at_local, best.activity_id`

const DURATIONS = 'select distinct duration_s from training.power_bests order by 1'

export const powerBests = makeTool({
  name: 'power_bests',
  title: 'Best power over a span',
  description:
    'Best mean power by sport and duration over local days (default: all time), with its activity.',
  input: z.object({
    account,
    from: day.describe('first day'),
    to: day.describe('last day'),
    sport: z
      .enum([...SPORTS, 'all'])
      .optional()
      .describe('all: best of any'),
    durations_s: z.array(z.number().int().min(1).max(86_400)).max(80).default(USUAL_S),
  }),
  output: {
    bests: z.array(
      z.object({
        account: z.string(),
        sport: z.string(),
        duration_s: z.number(),
        best_w: z.number(),
        activity: z.string(),
        ...each(text, 'name day'),
      }),
    ),
  },
  async run({ query }, input) {
    const { from, to, sport, durations_s: durations } = input
    const bests = await query(BESTS, [input.account, from, to, durations, sport])
    const found = [...USUAL_S, ...bests.map((best) => best.duration_s)]
    if (durations.some((duration) => !found.includes(duration))) {
      const known = (await query(DURATIONS)).map((one) => one.duration_s)
      const unknown = durations.filter((duration) => !found.includes(duration) && !known.includes(duration))
      if (unknown.length > 0) return makeUnknown(`best over ${unknown.join(', ')} s`, known)
    }
    return makeAnswer({ data: { bests }, list: 'bests', narrower: 'Name one account and fewer durations_s.' })
  },
})
