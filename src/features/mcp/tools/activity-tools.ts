import { z } from 'zod'
import { makeFoldedSql } from '../../../core/store/clean.ts'
import { account, day, each, makeAnswer, makeFailure, makeTool, makeUnknown, number, text } from './tool.ts'

/** The columns that both tools return. The service sends the distance in km. */
const COLUMNS = `
  x.path as activity, a.name as account, x.name, x.activity_type as type,
  to_char(x.started_at_local, 'YYYY-MM-DD HH24:MI') as started_at_local, x.timezone, x.elapsed_s, x.distance as distance_km,
  x.xss, x.avg_power as avg_power_w, x.max_power as max_power_w, x.sig_ftp as ftp_w, x.focus, x.difficulty, x.medal`

const SORTS = {
  newest: 'x.started_at desc nulls last',
  oldest: 'x.started_at',
  hardest: 'x.xss desc nulls last',
  longest: 'x.elapsed_s desc nulls last',
} as const

const listed = {
  activity: z.string(),
  account: z.string(),
  ...each(text, 'name type started_at_local timezone focus'),
  ...each(number, 'elapsed_s distance_km xss avg_power_w max_power_w ftp_w difficulty'),
  medal: z.unknown(),
}

const TYPES = `select distinct activity_type as type from training.activities where activity_type is not null order by 1`
const SEARCHED = makeFoldedSql(`concat_ws(' ', x.name, x.description)`)

export const findActivities = makeTool({
  name: 'find_activities',
  title: 'Find activities',
  description: 'Activities by local day, words and type. `activity` is the key for get_activity.',
  input: z.object({
    account,
    from: day.describe('first day'),
    to: day.describe('last day'),
    words: z.string().max(200).optional().describe('each in name or description; case and accents ignored'),
    type: z.string().max(100).optional().describe('such as Cycling'),
    sort: z.enum(['newest', 'oldest', 'hardest', 'longest']).default('newest').describe('hardest: by xss'),
    limit: z.number().int().min(1).max(200).default(20),
    offset: z.number().int().min(0).max(100_000).default(0),
  }),
  output: { activities: z.array(z.object(listed)), matching: z.number() },
  async run({ query }, input) {
    const { from, to, words, type, limit, offset } = input
    const rows = await query(
      `select ${COLUMNS}, count(*) over () as matching
       from training.activities x join training.accounts a using (account_id)
       where x.absent_since is null and ($1::text is null or a.name = $1)
         and ($2::date is null or x.started_at_local >= $2::date) and ($3::date is null or x.started_at_local < $3::date + 1)
         and not exists (select from unnest($4::text[]) word where strpos(${SEARCHED}, ${makeFoldedSql('word')}) = 0)
         and ($5::text is null or lower(x.activity_type) = lower($5))
       order by ${SORTS[input.sort]}, x.activity_id limit $6 offset $7`,
      [input.account, from, to, words?.split(/\s+/).filter(Boolean) ?? [], type, limit, offset],
    )
    if (rows.length === 0 && offset > 0)
      return makeFailure(`Offset ${offset} is past the end: fewer activities match. Ask with offset 0.`)
    const types = type && rows.length === 0 ? (await query(TYPES)).map((one) => String(one.type)) : []
    if (type && types.length > 0 && !types.some((one) => one.toLowerCase() === type.toLowerCase()))
      return makeUnknown(`type "${type}"`, types)
    const matching = Number(rows[0]?.matching ?? 0)
    return makeAnswer({
      data: { activities: rows.map(({ matching: _, ...row }) => row), matching },
      list: 'activities',
      leftOut: offset + rows.length < matching,
      narrower: `Ask with offset ${offset + rows.length}, fewer days, or words.`,
    })
  },
})

const DETAIL = `
  select x.activity_id, ${COLUMNS}, x.description, x.detail_state as state, x.sample_count, x.max_cadence as max_cadence_rpm,
    x.total_elevation_gain, x.total_calories, x.xlss as xss_low, x.xhss as xss_high, x.xpss as xss_peak, x.specificity,
    x.difficulty_rating, x.sig_pp as pp_w, x.prev_sig_ftp as ftp_before_w, x.prev_sig_pp as pp_before_w, x.breakthrough, x.form,
    x.freshness, x.training_status,
    (select to_jsonb(z) - '{account_id,activity_id,day}'::text[] from training.ride_intensity z
     where z.activity_id = x.activity_id) as zones,
    (select jsonb_strip_nulls(to_jsonb(m) - '{account_id,account,activity_id,day,started_at,name,activity_type,elapsed_s,distance,xss,ftp}'::text[])
     from training.ride_overview m where m.account_id = x.account_id and m.activity_id = x.activity_id) as measures,
    (select to_jsonb(r) - '{account_id,account}'::text[] from training.routes r
     where r.account_id = x.account_id and r.route_id = (select route_id from training.ride_measures where activity_id = x.activity_id)) as route
  from training.activities x join training.accounts a using (account_id)
  where (x.path = $1 or x.activity_id::text = $1) and ($2::text is null or a.name = $2)
  order by x.path = $1 desc, a.name limit 10`

const CURVE = `
  select duration_s, watts as best_w from training.power_curves where activity_id = $1 order by duration_s`

const detail = z.object({
  ...listed,
  activity_id: z.number(),
  ...each(text, 'description specificity difficulty_rating freshness'),
  state: z.string(),
  ...each(number, 'sample_count max_cadence_rpm total_elevation_gain total_calories xss_low xss_high'),
  ...each(number, 'xss_peak pp_w ftp_before_w pp_before_w form training_status'),
  breakthrough: z.unknown(),
  zones: z.record(z.string(), z.unknown()).nullable(),
  measures: z.record(z.string(), z.unknown()).nullable(),
  route: z.record(z.string(), z.unknown()).nullable(),
})

/** Returns everything about one activity except its samples. */
export const getActivity = makeTool({
  name: 'get_activity',
  title: 'One activity',
  description: 'Scores, signature, power curve, measures and seconds in zones of one activity.',
  input: z.object({ activity: z.string().min(1).max(200).describe('key from find_activities'), account }),
  output: { activity: detail, power_curve: z.array(z.object({ duration_s: z.number(), best_w: number })) },
  async run({ query }, input) {
    const found = await query(DETAIL, [input.activity, input.account])
    const owners = found.filter((row) => row.activity === input.activity).map((row) => row.account)
    if (owners.length > 1)
      return makeFailure(
        `The accounts ${owners.join(', ')} have an activity with that key; name one as account.`,
      )
    const [activity] = found
    if (!activity) return makeFailure('There is no such activity; find its key with find_activities.')
    const curve = await query(CURVE, [activity.activity_id])
    return makeAnswer({
      data: { activity, power_curve: curve },
      list: 'power_curve',
      narrower: 'Read training.power_curves with run_query.',
    })
  },
})
