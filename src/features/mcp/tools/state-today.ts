import { z } from 'zod'
import { account, each, makeAnswer, makeTool, number, text } from './tool.ts'

const STATE = `
  select a.name as account, t.day::text as today, training.local_time(i.last_seen_at, t.timezone)::text as as_of_local,
    i.weight_kg, i.ftp as ftp_w, i.ltp as ltp_w, i.hie as hie_kj, i.pp as pp_w,
    i.tl_total as training_load, i.tl_low as training_load_low, i.tl_high as training_load_high, i.tl_peak as training_load_peak,
    i.status as freshness, f.day::text as form_day, f.form, f.rl_total as recovery_load,
    e.form as form_now, e.rl_total as recovery_load_now, e.reason as form_now_unknown_because,
    i.target_total as target_xss, i.target_low as target_xss_low, i.target_high as target_xss_high,
    i.target_peak as target_xss_peak, r.xss as recommended_xss, w.xss as week_recommended_xss, d.last_7_days_xss, d.last_28_days_xss,
    i.wotd_type as workout_type, i.wotd_name as workout_name, i.wotd_description as workout_description,
    i.wotd_difficulty as workout_difficulty,
    (select json_agg(json_build_object('name', s.name, 'times', s.interval_count, 'power_w', s.power, 'duration_s', s.duration,
       'rest_power_w', s.power_rest, 'rest_duration_s', s.duration_rest) order by s.position)
     from training.workout_sets s where s.account_id = a.account_id and s.path = i.wotd_workout_id) as workout_steps
  from training.accounts a
  left join training.today t using (account_id)
  left join lateral (
    select * from training.training_info i where i.account_id = a.account_id order by i.observed_at desc limit 1) i on true
  left join training.recommended_load r on r.account_id = a.account_id and r.day = t.day
  left join training.recommended_weeks w on w.account_id = a.account_id and w.week = training.week_of(t.day)
  left join training.form_now f on f.account_id = a.account_id
  left join training.form_today e on e.account_id = a.account_id
  left join lateral (
    select sum(d.xss) filter (where d.day > t.day - 7) as last_7_days_xss, sum(d.xss) as last_28_days_xss
    from training.daily_load d where d.account_id = a.account_id and d.day > t.day - 28) d on true
  where $1::text is null or a.name = $1
  order by a.name`

const step = z.object({
  name: text,
  ...each(number, 'times power_w duration_s rest_power_w rest_duration_s'),
})
const state = z.object({
  account: z.string(),
  ...each(
    text,
    'today as_of_local freshness form_day form_now_unknown_because workout_type workout_name workout_description',
  ),
  ...each(number, 'weight_kg ftp_w ltp_w hie_kj pp_w training_load training_load_low'),
  ...each(
    number,
    'training_load_high training_load_peak form recovery_load form_now recovery_load_now target_xss target_xss_low',
  ),
  ...each(number, 'target_xss_high target_xss_peak recommended_xss week_recommended_xss'),
  ...each(number, 'last_7_days_xss last_28_days_xss workout_difficulty'),
  workout_steps: z.array(step).nullable(),
})

/** Returns the current state of each account. */
export const stateToday = makeTool({
  name: 'state_today',
  title: 'The state today',
  description:
    'Signature, weight, training load, form, load recommended today (target_xss: what is left) and this week, workout of the day with its steps.',
  input: z.object({ account }),
  output: { accounts: z.array(state) },
  async run({ query }, input) {
    const accounts = await query(STATE, [input.account])
    return makeAnswer({ data: { accounts }, list: 'accounts', narrower: 'Name one account.' })
  },
})
