import type { SUMMARY_FIELDS } from '../fields/activity-fields.ts'
import type { SqlRow } from '../fields/field.ts'
import type { TRAINING_INFO_FIELDS } from '../fields/training-fields.ts'
import { shorten } from '../kit/text.ts'
import type { Account } from '../store/account-rows.ts'
import type { AccountHealth } from '../store/health.ts'
import type { Tx } from '../store/store.ts'
import { findWeekDays } from '../store/training/week-days.ts'

/** What Home Assistant shows as the state of an entity at most. */
const LONGEST_STATE = 255

type Value = string | number | boolean | null

/** An account's facts by the keys of the entities, and the attributes of its workout and its last activity; times are ISO 8601. */
export type DeviceFacts = {
  state: Readonly<Record<string, Value>>
  workout: Readonly<Record<string, Value>>
  activity: Readonly<Record<string, Value>>
}

/** Finds the present values of an account's device; unknown ones are null. */
export async function findDeviceFacts(
  tx: Tx,
  {
    account,
    health,
    backupAt,
  }: { account: Account; health: AccountHealth | undefined; backupAt: Date | null },
): Promise<DeviceFacts> {
  const { accountId, name } = account
  const { rows } = await tx.client.query<Facts>(FACTS, [accountId, name])
  const [facts] = rows
  if (!facts) throw new Error('a query without FROM has one row')
  const { info, activity, load } = facts
  const week = await findWeekDays(tx, accountId)
  const recommended = week.flatMap((day) => day.recommended_xss ?? [])
  const sum = (numbers: number[]) => Math.round(10 * numbers.reduce((total, each) => total + each, 0)) / 10
  const hasWorkout = info !== null && info.wotd_type?.toLowerCase() !== 'none'
  return {
    state: {
      status: textOf(info?.status),
      ...pick(info, ['ftp', 'ltp', 'hie', 'pp', 'weight_kg']),
      ...pick(info, ['tl_low', 'tl_high', 'tl_peak', 'tl_total']),
      ...pick(load, ['rl_low', 'rl_high', 'rl_peak', 'rl_total', 'form']),
      freshness: textOf(load?.freshness),
      ...pick(info, ['target_low', 'target_high', 'target_peak', 'target_total']),
      workout: hasWorkout ? textOf(info.wotd_name) : null,
      // Home Assistant takes "None" for a value that is not known.
      workout_type: info && !hasWorkout ? 'No workout' : textOf(info?.wotd_type),
      workout_difficulty: hasWorkout ? info.wotd_difficulty : null,
      activity: textOf(activity?.name),
      activity_at: instantOf(activity?.started_at),
      ...{ activity_xss: activity?.xss ?? null, activity_seconds: activity?.elapsed_s ?? null },
      activity_distance: activity?.distance_km ?? null,
      activity_focus: textOf(activity?.focus),
      activity_breakthrough: activity ? (activity.breakthrough ?? 0) > 0 : null,
      week_xss: week.length > 0 ? sum(week.map(({ xss }) => xss)) : null,
      week_started_at: instantOf(facts.week_started_at),
      // A sum of only the known days would look like the sum of the week.
      week_recommended: recommended.length === 7 ? sum(recommended) : null,
      needs_login: account.needsLogin,
      token_ends_at: instantOf(health?.token_expires_at),
      polled_at: instantOf(health?.polled_at),
      files_waiting: facts.waiting,
      files_refused: facts.refused,
      backup_at: instantOf(backupAt),
    },
    workout: hasWorkout
      ? {
          type: info.wotd_type,
          description: info.wotd_description,
          difficulty: info.wotd_difficulty,
          workout_id: info.wotd_workout_id,
        }
      : {},
    activity: activity
      ? {
          ...{
            path: activity.path,
            type: activity.activity_type,
            started_at: instantOf(activity.started_at),
          },
          ...{ xss: activity.xss, focus: activity.focus, medal: activity.medal },
          breakthrough: activity.breakthrough,
        }
      : {},
  }
}

type Facts = {
  info: SqlRow<typeof TRAINING_INFO_FIELDS> | null
  activity:
    | (Pick<SqlRow<typeof SUMMARY_FIELDS>, 'focus' | 'xss' | 'medal' | 'breakthrough'> &
        Record<'name' | 'activity_type' | 'started_at', string | null> &
        Record<'elapsed_s' | 'distance_km', number | null> & { path: string })
    | null
  load: (Record<string, number | null> & { freshness: string | null }) | null
  week_started_at: Date | null
  waiting: number
  refused: number
}

const FACTS = `
  select
    (select to_jsonb(i) - 'raw' from training.training_info i where account_id = $1 order by observed_at desc limit 1) as info,
    (select jsonb_build_object('path', v.path, 'name', v.name, 'activity_type', v.activity_type, 'focus', v.focus,
       'started_at', v.started_at, 'xss', v.xss, 'elapsed_s', v.elapsed_s, 'distance_km', v.distance, 'medal', v.medal,
       'breakthrough', v.breakthrough)
     from training.activities v where account_id = $1 and absent_since is null and started_at is not null
     order by started_at desc, activity_id desc limit 1) as activity,
    (select jsonb_build_object('rl_low', rl_ftp, 'rl_high', rl_hie, 'rl_peak', rl_pp, 'rl_total', rl_total, 'form', form,
       'freshness', freshness)
     from training.form_history where account_id = $1 and rl_total is not null order by at desc limit 1) as load,
    (select date_trunc('week', day::timestamp) at time zone timezone from training.today where account_id = $1) as week_started_at,
    (select count(*)::int from training.waiting_files where account_name = $2 or account_name is null) as waiting,
    (select count(*)::int from training.uploads where account_id = $1 and state = 'refused') as refused`

function pick(row: Record<string, unknown> | null, names: readonly string[]): Record<string, number | null> {
  const numberOf = (value: unknown) => (typeof value === 'number' ? value : null)
  return Object.fromEntries(names.map((name) => [name, numberOf(row?.[name])]))
}

function textOf(text: string | null | undefined): string | null {
  return text ? shorten(text, LONGEST_STATE) : null
}

function instantOf(at: Date | string | null | undefined): string | null {
  return at ? new Date(at).toISOString() : null
}
