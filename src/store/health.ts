import { findPublisherState } from '../features/mqtt/mqtt-publisher.ts'
import { findMessageCounts } from '../features/webhooks/known-webhooks.ts'
import { FOUND_DIFFERENT, findWholeWorkState, LAST_RUN, POLLED_AT } from './runs.ts'
import { activities, uploads } from './schema/index.ts'
import type { Tx } from './store.ts'

/** The state of one account's login and polls. */
export type AccountHealth = {
  account: string
  needs_login: boolean
  created_at: Date
  /** when the list was last polled to its end, by the database's clock */
  polled_at: Date | null
  /** of the access token; null before the first login */
  token_obtained_at: Date | null
  token_expires_at: Date | null
  refresh_failures: number | null
  refresh_not_before: Date | null
  /** since when the service refuses the tokens that it makes */
  refused_since: Date | null
  /** whether its tokens belong to another rider than its activities */
  other_rider: boolean
  /** the newest run of the activity list, also one that has not ended */
  last_run: { outcome: string; error: string | null } | null
}

/**
 * Finds the state of every account's login and polls, oldest account first. It reads a few rows of an index per account and
 * counts nothing, so that a health check can run it every few seconds.
 */
export async function findAccountHealth(tx: Tx): Promise<AccountHealth[]> {
  const { rows } = await tx.client.query<AccountHealth>(`
    select a.name as account, a.needs_login, a.created_at, p.polled_at, c.obtained_at as token_obtained_at,
           c.expires_at as token_expires_at, c.failures as refresh_failures, c.not_before as refresh_not_before, c.refused_since,
           r.last_run, coalesce(o.is_other and o.pair = sha256(c.access_token), false) as other_rider
    from training.accounts a
    left join musette.credentials c using (account_id)
    left join musette.riders o using (account_id)
    left join lateral (${POLLED_AT}) p on true
    left join lateral (${LAST_RUN}) r on true
    order by a.account_id`)
  return rows
}

type StateCount = { account: string; state: string; count: number }

export type HealthCounts = Awaited<ReturnType<typeof findHealthCounts>>

const ACTIVITY_STATES = [...activities.detailState.enumValues, 'absent']
const UPLOAD_STATES = uploads.state.enumValues

/**
 * Counts activities and files by state and measures the database. Every account has every state, also with 0. It reads activities and
 * uploads once, and no samples.
 */
export async function findHealthCounts(tx: Tx) {
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
  const verified = await tx.client.query<{
    account: string
    since: Date | null
    unverified: number
    differed: number
  }>(
    `select a.name as account, v.*, d.* from training.accounts a
    cross join lateral (
      select min(verified_at) as since, count(*) filter (where verified_at is null)::int as unverified
      from training.activities where account_id = a.account_id and detail_state = 'mirrored' and absent_since is null
    ) v
    cross join lateral (${FOUND_DIFFERENT}) d
    order by a.account_id`,
  )
  const { doneAt: exportedAt } = await findWholeWorkState(tx, 'export')
  const { doneAt: heartbeatAt } = await findWholeWorkState(tx, 'heartbeat')
  return {
    /** `absent` counts those that the service no longer lists, in whatever state they are */
    activities: counted.rows.map(({ account, state, count }) => ({ account, state, count })),
    /** the wanted activities that were never fetched */
    neverFetched: counted.rows
      .filter(({ state }) => state === 'wanted')
      .map(({ account, never_fetched: count }) => ({ account, count })),
    uploads: files.rows,
    /** files that wait in the drop folders, by the code of the reason */
    waitingFiles: waiting.rows,
    /** the comparison with the service: the oldest time of a mirrored activity, how many have none, how many differed in 30 days */
    verified: verified.rows,
    /** on disk, indexes included */
    samplesBytes: sizes.rows[0]?.samples ?? 0,
    databaseBytes: sizes.rows[0]?.whole ?? 0,
    /** when the daemon last exported the whole history; null when it never did */
    exportedAt,
    /** when a monitor last got a good result; null when never */
    heartbeatAt,
    /** whether a process is connected to the MQTT broker; null when none ever was */
    mqttConnected: (await findPublisherState(tx))?.connected ?? null,
    backup: await findWholeWorkState(tx, 'backup'),
    backupVerified: await findWholeWorkState(tx, 'backup-verify'),
    /** messages of the webhooks that are kept */
    messages: await findMessageCounts(tx),
  }
}
