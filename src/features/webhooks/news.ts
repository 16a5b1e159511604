import type { SUMMARY_FIELDS } from '../../core/fields/activity-fields.ts'
import type { SqlRow } from '../../core/fields/field.ts'
import type { Tx } from '../../core/store/store.ts'

const READY = "a.absent_since is not null or a.samples_at is not null or a.detail_state = 'mirrored'"
// Do not wait for the wanted activities of an account that needs a login, because nothing is fetched for it.
const RESTS = `d.last_at < clock_timestamp() - $1 * interval '1 ms' and (d.event = 'upload.refused' or not exists (
  select from training.activities a join training.accounts c using (account_id)
  where a.account_id = d.account_id and a.detail_state = 'wanted' and a.absent_since is null and not c.needs_login))`

/**
 * Reports whether there may be messages to make: about a settled change, a new activity with its samples, or a digest that got no addition
 * for `restMs`. Writes nothing, because this runs every second.
 */
export async function findIsNewsThere(tx: Tx, { restMs }: { restMs: number }): Promise<boolean> {
  const { rows } = await tx.client.query<{ there: boolean }>(
    `select exists (select from training.changes_settled
         where change_id > (select min(change_id) from musette.webhooks))
       or exists (select from musette.webhook_waiting w join training.activities a using (account_id, path) where ${READY})
       or exists (select from musette.webhook_digests d where ${RESTS}) as there`,
    [restMs],
  )
  return rows[0]?.there === true
}

export async function recordWaiting(tx: Tx, activities: ReadonlyArray<{ accountId: number; path: string }>) {
  await tx.client.query(
    `insert into musette.webhook_waiting (account_id, path)
     select * from unnest($1::int[], $2::text[]) on conflict do nothing`,
    [activities.map(({ accountId }) => accountId), activities.map(({ path }) => path)],
  )
}

const SCORES = [
  ...(['duration', 'distance', 'xss', 'xlss', 'xhss', 'xpss', 'sig_ftp', 'sig_atc', 'sig_pp'] as const),
  ...(['prev_sig_ftp', 'prev_sig_atc', 'prev_sig_pp', 'medal', 'breakthrough'] as const),
]

/** A new activity with samples and scores; units as in the columns of activities. */
export type ReadyActivity = Pick<SqlRow<typeof SUMMARY_FIELDS>, (typeof SCORES)[number]> & {
  account_id: number
  account: string
  activity_id: number
  path: string
  name: string | null
  activity_type: string | null
  started_at: Date | null
  elapsed_s: number | null
  /** when samples and scores were recorded */
  ready_at: Date
  /** how many activities of the account were first seen within ten minutes of this activity; null if it did not start recently */
  seen_together: number | null
}

/**
 * Finds the waiting activities that have samples and scores, ends their wait and returns them, oldest first; leaves out removed activities.
 * An activity without samples is ready once musette no longer expects any. `recentMs` is the maximum age of a recent activity.
 */
export async function recordReady(tx: Tx, { recentMs }: { recentMs: number }): Promise<ReadyActivity[]> {
  const { rows } = await tx.client.query<ReadyActivity>(
    `with ready as (
       delete from musette.webhook_waiting w using training.activities a
       where a.account_id = w.account_id and a.path = w.path and (${READY}) returning a.activity_id)
     select a.account_id, c.name as account, a.activity_id, a.path, a.name, a.activity_type, a.started_at, a.elapsed_s,
       ${SCORES.map((column) => `a.${column}`).join(', ')}, coalesce(a.fetched_at, a.updated_at) as ready_at,
       case when a.started_at > clock_timestamp() - $1 * interval '1 ms' then (
         select count(*)::int from training.activities o where o.account_id = a.account_id
           and o.first_seen_at between a.first_seen_at - interval '10 minutes' and a.first_seen_at + interval '10 minutes')
       end as seen_together
     from ready join training.activities a using (activity_id) join training.accounts c using (account_id)
     where a.absent_since is null order by a.started_at, a.activity_id`,
    [recentMs],
  )
  return rows
}

/** Adds one event per listed account id to the accounts' digests of that event; an id may occur several times. */
export async function recordForDigest(tx: Tx, event: string, accountIds: readonly number[]): Promise<void> {
  await tx.client.query(
    `insert into musette.webhook_digests as d (account_id, event, count)
     select id, $2, count(*) from unnest($1::int[]) id group by id
     on conflict (account_id, event) do update set count = d.count + excluded.count, last_at = clock_timestamp()`,
    [accountIds, event],
  )
}

export type Digest = {
  account_id: number
  account: string
  event: string
  count: number
  began_at: Date
  last_at: Date
}

/** Deletes and returns the digests without an addition for `restMs` and without wanted activities. */
export async function recordDigestsEnded(tx: Tx, { restMs }: { restMs: number }): Promise<Digest[]> {
  const { rows } = await tx.client.query<Digest>(
    `with ended as (delete from musette.webhook_digests d where ${RESTS} returning d.*)
     select e.account_id, a.name as account, e.event, e.count, e.began_at, e.last_at
     from ended e join training.accounts a using (account_id) order by e.account_id, e.event`,
    [restMs],
  )
  return rows
}

export type Recalculation = {
  activities: number
  xss_change: number | null
  ftp_before: number | null
  ftp_after: number | null
  first_day: string
  last_day: string
}

/** Finds the newest recalculation of an account's history that ended after `since`; returns undefined if only few activities changed. */
export async function findRecalculation(tx: Tx, { accountId, since }: { accountId: number; since: Date }) {
  const { rows } = await tx.client.query<Recalculation>(
    `select activities, xss_change, ftp_before, ftp_after, first_ride::text as first_day, last_ride::text as last_day
     from training.recalculations where account_id = $1 and observed_to >= $2::timestamptz - interval '10 minutes'
     order by observed_to desc limit 1`,
    [accountId, since],
  )
  return rows[0]
}

/** Counts an account's messages about an event within the last hour, for the webhook that got the most. */
export async function findRecentMessageCount(
  tx: Tx,
  { accountId, event }: { accountId: number; event: string },
): Promise<number> {
  const { rows } = await tx.client.query<{ count: number }>(
    `select coalesce(max(n), 0)::int as count from (
       select count(*) as n from musette.webhook_messages
       where account_id = $1 and event = $2 and created_at > clock_timestamp() - interval '1 hour' group by webhook) made`,
    [accountId, event],
  )
  return Number(rows[0]?.count)
}

/** Records that a fault (`subject`) exists or is over. Returns whether the state has changed. */
export async function recordCondition(tx: Tx, subject: string, isWrong: boolean): Promise<boolean> {
  const text = isWrong
    ? 'insert into musette.webhook_conditions (subject) values ($1) on conflict do nothing'
    : 'delete from musette.webhook_conditions where subject = $1'
  return (await tx.client.query(text, [subject])).rowCount === 1
}

/** Finds the open faults for which a message was made. */
export async function findConditionSubjects(tx: Tx): Promise<ReadonlySet<string>> {
  const text = 'select subject from musette.webhook_conditions'
  const { rows } = await tx.client.query<{ subject: string }>(text)
  return new Set(rows.map(({ subject }) => subject))
}
