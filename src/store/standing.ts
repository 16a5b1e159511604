import type { Tx } from './store.ts'

/** Where one account stands: its login, how much is mirrored, what waits, what failed, when it was last asked. */
export type Standing = {
  account: string
  base_url: string
  needs_login: boolean
  last_error: string | null
  login_expires_at: Date | null
  activities: number
  mirrored: number
  wanted: number
  awaiting_samples: number
  failed: number
  absent: number
  samples: number
  newest_activity_at: Date | null
  cursor: Date | null
  /** when the list was last polled to its end, by this machine's clock */
  polled_at: Date | null
  last_run: { kind: string; outcome: string; started_at: string; error: string | null } | null
}

export type FailedActivity = {
  account: string
  path: string
  name: string | null
  started_at: Date | null
  reason: string | null
  next_try_at: Date | null
}

/** Finds where every account stands, oldest account first. */
export async function findStandings(tx: Tx): Promise<Standing[]> {
  const { rows } = await tx.client.query<Standing>(`
    select a.name as account, a.base_url, a.needs_login, a.last_error, c.expires_at as login_expires_at,
           coalesce(n.activities, 0)::int as activities, coalesce(n.mirrored, 0)::int as mirrored,
           coalesce(n.wanted, 0)::int as wanted, coalesce(n.awaiting_samples, 0)::int as awaiting_samples,
           coalesce(n.failed, 0)::int as failed, coalesce(n.absent, 0)::int as absent,
           coalesce(n.samples, 0)::float8 as samples, n.newest_activity_at, s.updated_from as cursor, s.advanced_at as polled_at, r.last_run
    from training.accounts a
    left join musette.credentials c using (account_id)
    left join training.sync_cursors s on s.account_id = a.account_id and s.resource = 'activities'
    left join lateral (
      select count(*) filter (where absent_since is null) as activities,
             count(*) filter (where detail_state = 'mirrored' and absent_since is null) as mirrored,
             count(*) filter (where detail_state = 'wanted' and absent_since is null) as wanted,
             count(*) filter (where detail_state = 'awaiting_samples' and absent_since is null) as awaiting_samples,
             count(*) filter (where detail_state = 'failed' and absent_since is null) as failed,
             count(absent_since) as absent,
             sum(sample_count) as samples,
             max(started_at) filter (where absent_since is null) as newest_activity_at
      from training.activities where account_id = a.account_id
    ) n on true
    left join lateral (
      select jsonb_build_object('kind', kind, 'outcome', outcome, 'started_at', started_at, 'error', error) as last_run
      from training.sync_runs where account_id = a.account_id order by started_at desc, run_id desc limit 1
    ) r on true
    order by a.account_id`)
  return rows
}

/** Finds the activities whose last answer could not be used, newest first. */
export async function findFailedActivities(tx: Tx, input: { limit: number }): Promise<FailedActivity[]> {
  const { rows } = await tx.client.query<FailedActivity>(
    `select a.name as account, v.path, v.name, v.started_at, v.fetch_error as reason, v.next_fetch_at as next_try_at
     from training.activities v join training.accounts a using (account_id)
     where v.detail_state = 'failed' and v.absent_since is null
     order by v.started_at desc nulls last limit $1`,
    [input.limit],
  )
  return rows
}
