import { ofAccount } from './account-rows.ts'
import { FOUND_DIFFERENT, LAST_RUN, POLLED_AT } from './runs.ts'
import type { Tx } from './store.ts'

/** Status of one account: login, activity counts by state, progress and last run. */
export type AccountStatus = {
  account: string
  base_url: string
  needs_login: boolean
  last_error: string | null
  login_expires_at: Date | null
  /** when the service began to refuse the tokens that it issues; null while it accepts them */
  refused_since: Date | null
  /** whether the account's tokens and its activities belong to different riders */
  other_rider: boolean
  activities: number
  mirrored: number
  wanted: number
  awaiting_samples: number
  failed: number
  absent: number
  samples: number
  newest_activity_at: Date | null
  /** local date of the newest activity */
  newest_activity_day: string | null
  /** the rider's home time zone; null if not set */
  timezone: string | null
  /** fetched activities whose time zone is unknown; their days are UTC days */
  without_timezone: number
  cursor: Date | null
  /** activities fetched per minute over the last 5 minutes; null if none was fetched */
  fetched_per_minute: number | null
  /** s until all wanted activities are fetched at that rate; null if none is wanted or the rate is unknown */
  seconds_to_go: number | null
  /** the most entries that the service sends in one list; null if no limit is known */
  list_cap: number | null
  /** when the whole list was last compared with the mirror */
  reconciled_at: Date | null
  /** why the last comparison of the list changed nothing, with the next command; null if it succeeded */
  reconcile_error: string | null
  /** the list entries that the last comparison could not read; null if the comparison read all entries */
  unreadable_entries: string | null
  /** mirrored activities that were compared with the service and equal */
  verified: number
  /** the oldest time at which one of these activities was compared; null if a mirrored activity was never compared */
  verified_since: Date | null
  /** activities that comparisons in the last 30 days found different, although the list had shown no change */
  differed: number
  /** when a poll last read the list to its end, by the database's clock */
  polled_at: Date | null
  last_run: { kind: string; outcome: string; started_at: string; error: string | null } | null
}

/** Selects activities fetched in the last 5 minutes, which give a steady rate that still follows a slow service. Postgres runs the subqueries only once. */
const FETCHED_LATELY = `fetched_at > (select now() - interval '5 minutes') and fetched_at <= (select now())`

export type FailedActivity = {
  account: string
  activity_id: number
  path: string
  name: string | null
  started_at: Date | null
  reason: string | null
  next_try_at: Date | null
}

/** Finds the status of all accounts or of one account, oldest account first. */
export async function findAccountStatuses(tx: Tx, accountId?: number): Promise<AccountStatus[]> {
  const { rows } = await tx.client.query<AccountStatus>(`
    select a.name as account, a.base_url, a.needs_login, a.last_error, c.expires_at as login_expires_at,
           c.refused_since, coalesce(o.is_other and o.pair = sha256(c.access_token), false) as other_rider,
           coalesce(n.activities, 0)::int as activities, coalesce(n.mirrored, 0)::int as mirrored,
           coalesce(n.wanted, 0)::int as wanted, coalesce(n.awaiting_samples, 0)::int as awaiting_samples,
           coalesce(n.failed, 0)::int as failed, coalesce(n.absent, 0)::int as absent,
           coalesce(n.samples, 0)::float8 as samples, n.newest_activity_at, n.newest_activity_day, a.timezone,
           coalesce(n.without_timezone, 0)::int as without_timezone,
           nullif(n.per_minute, 0)::float8 as fetched_per_minute,
           case when n.wanted > 0 and n.per_minute > 0 then (n.wanted * 60 / n.per_minute)::float8 end as seconds_to_go,
           s.list_cap, s.list_checked_at as reconciled_at, w.error as reconcile_error, w.unreadable as unreadable_entries, s.updated_from as cursor, p.polled_at,
           coalesce(n.verified, 0)::int as verified, case when n.verified = n.mirrored then n.verified_since end as verified_since,
           d.differed, r.last_run
    from training.accounts a
    left join musette.credentials c using (account_id)
    left join musette.riders o using (account_id)
    left join training.sync_cursors s on s.account_id = a.account_id and s.resource = 'activities'
    left join (
      select account_id, count(*) filter (where absent_since is null) as activities,
             count(*) filter (where detail_state = 'mirrored' and absent_since is null) as mirrored,
             count(*) filter (where detail_state = 'wanted' and absent_since is null) as wanted,
             count(*) filter (where detail_state = 'awaiting_samples' and absent_since is null) as awaiting_samples,
             count(*) filter (where detail_state = 'failed' and absent_since is null) as failed,
             count(absent_since) as absent,
             sum(sample_count) as samples,
             count(verified_at) filter (where detail_state = 'mirrored' and absent_since is null) as verified,
             min(verified_at) filter (where detail_state = 'mirrored' and absent_since is null) as verified_since,
             max(started_at) filter (where absent_since is null) as newest_activity_at,
             max(started_at_local::date) filter (where absent_since is null)::text as newest_activity_day,
             count(*) filter (where timezone_source = 'unknown' and fetched_at is not null and absent_since is null) as without_timezone,
             count(*) filter (where ${FETCHED_LATELY}) * 60 / greatest(1, extract(epoch from
               now() - min(fetched_at) filter (where ${FETCHED_LATELY}))) as per_minute
      from training.activities group by account_id
    ) n on n.account_id = a.account_id
    left join lateral (${POLLED_AT}) p on true
    left join lateral (${FOUND_DIFFERENT}) d on true
    left join lateral (${LAST_RUN}) r on true
    left join lateral (
      select case when outcome <> 'partial' then error end as error, case when outcome = 'partial' then error end as unreadable
      from training.sync_runs
      where account_id = a.account_id and resource = 'activities' and kind = 'reconcile' and outcome <> 'running'
      order by started_at desc, run_id desc limit 1
    ) w on true
    where ${ofAccount(accountId, 'a.account_id')}
    order by a.account_id`)
  return rows
}

type UploadCounts = { account: string; state: string; files: number; last_reason: string | null }

/** Counts the files in the upload ledger by account and state, of all accounts or of one account. `last_reason` is the newest failure's reason. */
export async function findUploadCounts(tx: Tx, accountId?: number): Promise<UploadCounts[]> {
  const { rows } = await tx.client.query<UploadCounts>(`
    select a.name as account, u.state, count(*)::int as files,
           (array_agg(u.reason order by u.seen_at desc) filter (where u.reason is not null))[1] as last_reason
    from training.uploads u join training.accounts a using (account_id) where ${ofAccount(accountId)}
    group by a.account_id, a.name, u.state order by a.account_id, u.state`)
  return rows
}

/** Finds the activities whose last fetch failed, of all accounts or of one account, newest first. */
export async function findFailedActivities(tx: Tx, limit: number, accountId?: number) {
  const { rows } = await tx.client.query<FailedActivity>(
    `select a.name as account, v.activity_id, v.path, v.name, v.started_at, v.fetch_error as reason, v.next_fetch_at as next_try_at
     from training.activities v join training.accounts a using (account_id)
     where v.detail_state = 'failed' and v.absent_since is null and ${ofAccount(accountId)}
     order by v.started_at desc nulls last limit $1`,
    [limit],
  )
  return rows
}

/** Finds signed-in accounts that share activities at one service and so belong to one rider: the names of each group, oldest account first. */
export async function findSharedRiders(tx: Tx): Promise<string[][]> {
  const { rows } = await tx.client.query<{ accounts: string[] }>(
    `select distinct accounts from (
       select array_agg(a.name order by a.account_id) as accounts
       from training.activities v join training.accounts a using (account_id) join musette.credentials using (account_id)
       group by a.base_url, v.path) shared
     where cardinality(accounts) > 1 order by 1`,
  )
  return rows.map(({ accounts }) => accounts)
}

/** The state of one account's login and polls. */
export type AccountHealth = {
  account: string
  needs_login: boolean
  created_at: Date
  /** when a poll last read the list to its end, by the database's clock */
  polled_at: Date | null
  /** when the access token was issued; null before the first login */
  token_obtained_at: Date | null
  token_expires_at: Date | null
  refresh_failures: number | null
  refresh_not_before: Date | null
  /** when the service began to refuse the tokens that it issues */
  refused_since: Date | null
  /** whether the account's tokens and its activities belong to different riders */
  other_rider: boolean
  /** the newest run for the activity list, even if it is still running */
  last_run: { outcome: string; error: string | null } | null
}

/** Selects the accounts whose login may have a problem. */
const DOUBTFUL = 'a.needs_login or c.account_id is null or c.refused_since is not null or o.is_other'

/** Finds the login and poll state of the chosen accounts, oldest first. Reads few index rows, because health checks run it every few seconds. */
export async function findAccountHealth(tx: Tx, choice?: number | 'doubtful'): Promise<AccountHealth[]> {
  const { rows } = await tx.client.query<AccountHealth>(`
    select a.name as account, a.needs_login, a.created_at, p.polled_at, c.obtained_at as token_obtained_at,
           c.expires_at as token_expires_at, c.failures as refresh_failures, c.not_before as refresh_not_before, c.refused_since,
           r.last_run, coalesce(o.is_other and o.pair = sha256(c.access_token), false) as other_rider
    from training.accounts a
    left join musette.credentials c using (account_id)
    left join musette.riders o using (account_id)
    left join lateral (${POLLED_AT}) p on true
    left join lateral (${LAST_RUN}) r on true
    where ${choice === 'doubtful' ? DOUBTFUL : ofAccount(choice, 'a.account_id')}
    order by a.account_id`)
  return rows
}
