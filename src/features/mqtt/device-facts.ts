import type { Account } from '../../core/store/account-rows.ts'
import type { AccountHealth } from '../../core/store/account-status.ts'
import type { Tx } from '../../core/store/store.ts'
import { NOT_TAKEN } from '../../core/store/uploads/waiting-files.ts'

type Value = string | number | boolean | null
type Values = Readonly<Record<string, Value>>

/** An account's values by entity key, and the attributes of its workout and its last activity; times are ISO 8601. */
type DeviceFacts = { state: Values; workout: Values; activity: Values }

/** Finds the current values of an account's device; unknown values are null. */
export async function findDeviceFacts(
  tx: Tx,
  input: { account: Account; health: AccountHealth | undefined; backupAt: Date | null },
): Promise<DeviceFacts> {
  const { account, health, backupAt } = input
  const { rows } = await tx.client.query<DeviceFacts>(FACTS, [
    ...[account.accountId, account.name, account.needsLogin],
    ...[health?.token_expires_at, health?.polled_at, backupAt],
  ])
  const [facts] = rows
  if (!facts) throw new Error('a query without conditions finds one row')
  return facts
}

const isoOf = (at: string) => `to_char(training.local_time(${at}, 'UTC'), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

// Home Assistant reads "None" as unknown.
const FACTS = `
  select row_to_json(s) as state,
    case when w.account_id is null then '{}' else json_build_object('type', w.wotd_type, 'description', w.wotd_description,
      'difficulty', w.wotd_difficulty, 'workout_id', w.wotd_workout_id) end as workout,
    case when a.account_id is null then '{}' else json_build_object('path', a.path, 'type', a.activity_type,
      'started_at', s.activity_at, 'xss', a.xss, 'focus', a.focus, 'medal', a.medal, 'breakthrough', a.breakthrough) end as activity
  from (select) one
  left join training.today t on t.account_id = $1
  left join training.form_now f on f.account_id = $1
  left join lateral (select * from training.training_info where account_id = $1 order by observed_at desc limit 1) i on true
  left join lateral (select i.* where lower(i.wotd_type) is distinct from 'none') w on true
  left join lateral (
    select * from training.activities where account_id = $1 and absent_since is null and started_at is not null
    order by started_at desc, activity_id desc limit 1) a on true
  cross join lateral (select
    i.status, i.ftp, i.ltp, i.hie, i.pp, i.weight_kg, i.tl_low, i.tl_high, i.tl_peak, i.tl_total,
    f.rl_ftp as rl_low, f.rl_hie as rl_high, f.rl_pp as rl_peak, f.rl_total, f.form, f.freshness,
    i.target_low, i.target_high, i.target_peak, i.target_total, w.wotd_name as workout,
    case lower(i.wotd_type) when 'none' then 'No workout' else i.wotd_type end as workout_type, w.wotd_difficulty as workout_difficulty,
    a.name as activity, ${isoOf('a.started_at')} as activity_at, a.xss as activity_xss, a.elapsed_s as activity_seconds,
    a.distance as activity_distance, a.focus as activity_focus,
    case when a.account_id is not null then coalesce(a.breakthrough, 0) > 0 end as activity_breakthrough,
    (select training.round(sum(d.xss), 1) from training.this_week d where d.account_id = $1) as week_xss,
    ${isoOf('training.start_of_day(training.week_of(t.day), t.timezone)')} as week_started_at,
    (select training.round(r.xss, 1) from training.recommended_weeks r where r.account_id = $1 and r.week = training.week_of(t.day)) as week_recommended,
    $3::boolean as needs_login, ${isoOf('$4::timestamptz')} as token_ends_at, ${isoOf('$5::timestamptz')} as polled_at,
    (select count(*) from training.waiting_files where code <> '${NOT_TAKEN}' and coalesce(account_name, $2) = $2) as files_waiting,
    (select count(*) from training.uploads where account_id = $1 and state = 'refused') as files_refused,
    ${isoOf('$6::timestamptz')} as backup_at) s`
