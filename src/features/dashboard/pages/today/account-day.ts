import { sql } from 'drizzle-orm'
import { ofAccount } from '../../../../core/store/account-rows.ts'
import { QUIET_KEPT_DAYS } from '../../../../core/store/runs.ts'
import type { Tx } from '../../../../core/store/store.ts'
import { rowsOf } from '../rows-of.ts'

/** Finds today's date in an account's time zone, and on how many consecutive days, at most 90, a poll has succeeded. */
export async function findTodayOf(tx: Tx, accountId: number) {
  // Runs without a result are kept for QUIET_KEPT_DAYS. Looks up each day in the index, because a poll every minute leaves 130,000 rows.
  const [row] = await rowsOf<{ day: string; days_mirrored: number }>(tx)`
     select t.day::text as day, coalesce(min(p.ago) filter (where not p.was and p.ago > 0), ${QUIET_KEPT_DAYS})
       - (count(*) filter (where not p.was and p.ago = 0))::int as days_mirrored
     from training.today t cross join lateral (
       select n.ago, exists (
         select from training.sync_runs r
         where r.account_id = t.account_id and r.resource = 'activities' and r.kind in ('poll', 'backfill')
           and r.outcome in ('done', 'partial') and r.started_at >= training.start_of_day(t.day - n.ago, t.timezone)
           and r.started_at < training.start_of_day(t.day - n.ago + 1, t.timezone)
       ) as was from generate_series(0, ${QUIET_KEPT_DAYS}) as n (ago) offset 0
     ) p where t.account_id = ${accountId} group by t.day`
  return row
}

/** A day of the week, with its load and the recommended load, see the view this_week. */
type WeekDay = Record<'activities' | 'elapsed_s' | 'distance_km' | 'xss', number> & {
  day: string
  /** null if there is no training info yet */
  recommended_xss: number | null
}

/** Finds the seven days of an account's week, Monday first. */
export async function findWeekDays(tx: Tx, accountId: number): Promise<WeekDay[]> {
  return rowsOf<WeekDay>(tx)`
     select day::text as day, activities, elapsed_s, distance as distance_km, xss, recommended_xss
     from training.this_week where account_id = ${accountId} order by day`
}

/** The form and loads after the last activity; the service sends no units. */
type FormNow = {
  day: string
  form: number
  training_load: number | null
  recovery_load: number | null
  freshness: string | null
}

/** Finds an account's form after its last activity with a form; undefined if no activity has a form. */
export async function findFormNow(tx: Tx, accountId: number): Promise<FormNow | undefined> {
  const [row] = await rowsOf<FormNow>(tx)`
     select day::text as day, form, tl_total as training_load, rl_total as recovery_load, freshness
     from training.form_now where account_id = ${accountId}`
  return row
}

/** A value at an instant, s since 1970; `days_ago` counts the rider's local days. */
type Point = { at: number; value: number; days_ago: number }

/** Finds an account's form or FTP, W, after each activity of the last 90 days, oldest first. */
export async function findTrend(tx: Tx, accountId: number, of: 'form' | 'ftp'): Promise<Point[]> {
  const [value, history] = [sql.raw(of), sql.raw(of === 'form' ? 'form_history' : 'fitness_history')]
  return rowsOf<Point>(tx)`
     select extract(epoch from h.at)::float8 as at, h.${value} as value, t.day - h.day as days_ago
     from training.${history} h join training.today t using (account_id)
     where h.account_id = ${accountId} and h.${value} is not null and h.day > t.day - 90 and h.at > now() - interval '92 days'
     order by h.at`
}

/** The workout of the day, and its files by format (`erg`, `zwo`). */
export type WorkoutOfDay = {
  name: string | null
  type: string | null
  description: string | null
  difficulty: number | null
  files: Readonly<Record<string, string>>
}

/** Finds the workout in an account's newest training info, with the workout's files by format; undefined if there is no workout. */
export async function findWorkoutOfDay(tx: Tx, accountId: number): Promise<WorkoutOfDay | undefined> {
  const [row] = await rowsOf<WorkoutOfDay>(tx)`
     select i.wotd_name as name, i.wotd_type as type, i.wotd_description as description, i.wotd_difficulty as difficulty,
       coalesce((select jsonb_object_agg(f.format, f.content) from training.workout_files f
         where f.account_id = i.account_id and f.workout_id = i.wotd_workout_id), '{}') as files
     from (select * from training.training_info where account_id = ${accountId} order by observed_at desc limit 1) i
     where i.wotd_workout_id is not null or i.wotd_name is not null`
  return row
}

/** The last 24 hours: the number of runs, of runs that failed entirely or partly, and of new and changed activities. */
type RunsOfDay = { runs: number; failed: number; came: number; changed: number }

/**
 * Counts the runs of the last 24 hours, for all accounts or one. Counts the activities by the change feed, because the daemon fetches
 * activities without a run.
 */
export async function findRunsOfDay(tx: Tx, accountId?: number): Promise<RunsOfDay> {
  const isChosen = sql.raw(ofAccount(accountId))
  const [row] = await rowsOf<RunsOfDay>(tx)`
     select count(run_id)::int as runs, count(*) filter (where outcome in ('failed', 'abandoned', 'partial'))::int as failed,
       n.came::int, n.changed::int
     from (
       select count(*) filter (where is_new) as came, count(*) filter (where not is_new) as changed from (
         select bool_or(kind = 'activity.new') as is_new from training.changes
         where at > now() - interval '24 hours' and kind in ('activity.new', 'activity.changed', 'activity.samples') and ${isChosen}
         group by account_id, path
       ) each
     ) n left join training.sync_runs on started_at > now() - interval '24 hours' and ${isChosen} group by n.came, n.changed`
  return row ?? { runs: 0, failed: 0, came: 0, changed: 0 }
}
