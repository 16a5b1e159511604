import { activities, uploads } from './schema/index.ts'
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
  /** how many were fetched a minute, over the last minutes; null when none was */
  fetched_per_minute: number | null
  /** how long the wanted ones take at that rate, s; null when nothing is wanted or the rate is not known */
  seconds_to_go: number | null
  /** the longest list the service gives at once; null: not known to cut */
  list_cap: number | null
  /** when the whole list was last compared with the mirror */
  reconciled_at: Date | null
  /** why the last comparison changed nothing, and what to type; null when it went well */
  reconcile_error: string | null
  /** when the list was last polled to its end, by this machine's clock */
  polled_at: Date | null
  last_run: { kind: string; outcome: string; started_at: string; error: string | null } | null
}

/** Long enough for a steady number, short enough to follow a service that becomes slow. */
const RATE_OVER = '5 minutes'

export type FailedActivity = {
  account: string
  activity_id: number
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
           coalesce(n.samples, 0)::float8 as samples, n.newest_activity_at,
           f.per_minute as fetched_per_minute,
           case when n.wanted > 0 and f.per_minute > 0 then n.wanted * 60 / f.per_minute end as seconds_to_go,
           s.list_cap, s.list_checked_at as reconciled_at, w.error as reconcile_error, s.updated_from as cursor, p.polled_at, r.last_run
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
      select (count(*) * 60 / greatest(1, extract(epoch from now() - min(fetched_at))))::float8 as per_minute
      from training.activities
      where account_id = a.account_id and fetched_at between now() - interval '${RATE_OVER}' and now()
      having count(*) > 0
    ) f on true
    left join lateral (
      select finished_at as polled_at from training.sync_runs
      where account_id = a.account_id and resource = 'activities' and kind in ('poll', 'backfill')
        and outcome in ('done', 'partial')
      order by started_at desc limit 1
    ) p on true
    left join lateral (
      select jsonb_build_object('kind', kind, 'outcome', outcome, 'started_at', started_at, 'error', error) as last_run
      from training.sync_runs where account_id = a.account_id and resource = 'activities' order by started_at desc, run_id desc limit 1
    ) r on true
    left join lateral (
      select error from training.sync_runs
      where account_id = a.account_id and resource = 'activities' and kind = 'reconcile' and outcome <> 'running'
      order by started_at desc, run_id desc limit 1
    ) w on true
    order by a.account_id`)
  return rows
}

export type UploadStanding = { account: string; state: string; files: number; last_reason: string | null }

/** Finds how many files of the ledger are in each state, with the newest reason where one did not go through. */
export async function findUploadStandings(tx: Tx): Promise<UploadStanding[]> {
  const { rows } = await tx.client.query<UploadStanding>(`
    select a.name as account, u.state, count(*)::int as files,
           (array_agg(u.reason order by u.seen_at desc) filter (where u.reason is not null))[1] as last_reason
    from training.uploads u join training.accounts a using (account_id)
    group by a.account_id, a.name, u.state order by a.account_id, u.state`)
  return rows
}

/** Finds the activities whose last answer could not be used, newest first. */
export async function findFailedActivities(tx: Tx, input: { limit: number }): Promise<FailedActivity[]> {
  const { rows } = await tx.client.query<FailedActivity>(
    `select a.name as account, v.activity_id, v.path, v.name, v.started_at, v.fetch_error as reason, v.next_fetch_at as next_try_at
     from training.activities v join training.accounts a using (account_id)
     where v.detail_state = 'failed' and v.absent_since is null
     order by v.started_at desc nulls last limit $1`,
    [input.limit],
  )
  return rows
}

/** How one account's login and polls stand. */
export type AccountHealth = {
  account: string
  needs_login: boolean
  /** when the list was last polled to its end, by the database's clock */
  polled_at: Date | null
  /** of the access token; null when nobody has signed in */
  token_obtained_at: Date | null
  token_expires_at: Date | null
  refresh_failures: number | null
}

/**
 * Finds how every account stands, oldest first. Light: it reads a few rows of an index an account, and counts nothing,
 * so a health check may ask for it every few seconds.
 */
export async function findAccountHealth(tx: Tx): Promise<AccountHealth[]> {
  const { rows } = await tx.client.query<AccountHealth>(`
    select a.name as account, a.needs_login, p.polled_at, c.obtained_at as token_obtained_at,
           c.expires_at as token_expires_at, c.failures as refresh_failures
    from training.accounts a
    left join musette.credentials c using (account_id)
    left join lateral (
      select finished_at as polled_at from training.sync_runs
      where account_id = a.account_id and resource = 'activities' and kind in ('poll', 'backfill')
        and outcome in ('done', 'partial')
      order by started_at desc limit 1
    ) p on true
    order by a.account_id`)
  return rows
}

type StateCount = { account: string; state: string; count: number }

/** How much of everything there is; every account has every state, also with 0. */
export type HealthCounts = {
  /** `absent` are those the service lists no longer, whatever was known of them */
  activities: StateCount[]
  /** of the wanted activities, those that were never fetched */
  neverFetched: Array<{ account: string; count: number }>
  uploads: StateCount[]
  /** what waits in the drop folders, by the reason's code */
  waitingFiles: Array<{ code: string; count: number }>
  /** on disk, indexes included */
  samplesBytes: number
  databaseBytes: number
}

const ACTIVITY_STATES = [...activities.detailState.enumValues, 'absent']
const UPLOAD_STATES = uploads.state.enumValues

/** Finds how much of everything there is. It reads the rows of activities and uploads once, and none of samples. */
export async function findHealthCounts(tx: Tx): Promise<HealthCounts> {
  const counted = await tx.client.query<StateCount & { never_fetched: number }>(
    `select a.name as account, s.state, count(v.activity_id)::int as count,
            count(v.activity_id) filter (where v.fetched_at is null)::int as never_fetched
     from training.accounts a cross join unnest($1::text[]) s(state)
     left join training.activities v on v.account_id = a.account_id
       and s.state = case when v.absent_since is null then v.detail_state else 'absent' end
     group by a.account_id, a.name, s.state order by a.account_id, s.state`,
    [ACTIVITY_STATES],
  )
  const files = await tx.client.query<StateCount>(
    `select a.name as account, s.state, count(u.content_id)::int as count
     from training.accounts a cross join unnest($1::text[]) s(state)
     left join training.uploads u on u.account_id = a.account_id and u.state = s.state
     group by a.account_id, a.name, s.state order by a.account_id, s.state`,
    [UPLOAD_STATES],
  )
  const waiting = await tx.client.query<{ code: string; count: number }>(
    'select code, count(*)::int as count from training.waiting_files group by code order by code',
  )
  const sizes = await tx.client.query<{ samples: number; whole: number }>(
    `select pg_total_relation_size('training.samples')::float8 as samples,
            pg_database_size(current_database())::float8 as whole`,
  )
  return {
    activities: counted.rows.map(({ account, state, count }) => ({ account, state, count })),
    neverFetched: counted.rows
      .filter(({ state }) => state === 'wanted')
      .map(({ account, never_fetched: count }) => ({ account, count })),
    uploads: files.rows,
    waitingFiles: waiting.rows,
    samplesBytes: sizes.rows[0]?.samples ?? 0,
    databaseBytes: sizes.rows[0]?.whole ?? 0,
  }
}

/** What a Postgres server says of itself and of this database. */
export type DatabaseFacts = {
  version: string
  /** 150004 for 15.4 */
  version_number: number
  /** connections that may be open at once, without those kept for superusers */
  connections: number
  /** connections that other programs hold now */
  connections_of_others: number
  size_bytes: number
  autovacuum: boolean
}

/** A server in trouble must not hold up the question what the trouble is. */
const ANSWER_WITHIN_MS = 10_000

/** Finds what the server says of itself. */
export async function findDatabaseFacts(tx: Tx): Promise<DatabaseFacts> {
  await tx.client.query(`SET LOCAL statement_timeout = ${ANSWER_WITHIN_MS}`)
  const { rows } = await tx.client.query<DatabaseFacts>(`
    SELECT current_setting('server_version') AS version,
           current_setting('server_version_num')::int AS version_number,
           current_setting('max_connections')::int
             - current_setting('superuser_reserved_connections')::int AS connections,
           (SELECT count(*)::int FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND application_name NOT LIKE 'musette%') AS connections_of_others,
           pg_database_size(current_database())::float8 AS size_bytes,
           current_setting('autovacuum')::bool AS autovacuum`)
  const [facts] = rows
  if (!facts) throw new Error('a query without FROM returns its row')
  return facts
}
