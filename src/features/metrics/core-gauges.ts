import type { ServerRisk } from '../../core/store/database-facts.ts'
import { FOUND_DIFFERENT } from '../../core/store/runs.ts'
import { activities, uploads } from '../../core/store/schema/index.ts'
import type { Tx } from '../../core/store/store.ts'
import { NOT_TAKEN } from '../../core/store/uploads/waiting-files.ts'
import { defineGauges } from '../../program/frame/gauges.ts'

/** Codes that have a line even if the value is 0, so that an alarm can use the line. */
const WAITING_CODES = [
  ...['not_whole', 'unreadable_file', 'too_large', 'no_account'],
  ...['vanished', 'other_database', 'read_only'],
]

const RISKS = {
  slot_keeps_wal: 'musette_replication_slot_wal_bytes',
  wraparound_near: 'musette_database_transaction_age',
  order_of_texts_changed: 'musette_database_collation_changed',
} as const satisfies Record<ServerRisk['code'], string>

export const coreGauges = defineGauges({
  helps: {
    account: {
      musette_account_freshness_seconds:
        'Seconds since the last complete poll of the activity list; +Inf: never.',
      musette_account_needs_login: 'Whether a person must sign in again (1) or not (0).',
      musette_token_age_seconds: 'Seconds since the access token was obtained.',
      musette_token_expires_seconds: 'Seconds until the access token expires; below 0: expired.',
      musette_token_refresh_failures: 'Attempts in a row that failed to renew the access token.',
      musette_token_refused_seconds:
        'Seconds since the service began to refuse tokens that it issues; 0: it accepts them.',
      musette_backfill_to_go: 'Activities that the service lists but that have never been fetched.',
      musette_verified_age_seconds:
        'Seconds since the oldest comparison of an activity with the service, value by value; +Inf while an activity has none.',
      musette_scrub_differences:
        'Activities in which comparisons of the last 30 days found differences that nothing else had shown.',
    },
    'account state': {
      musette_activities: 'Activities by state; absent: in the mirror, no longer at the service.',
      musette_uploads: 'Files in the ledger by state.',
    },
    code: {
      musette_drop_folder_waiting:
        'Files in the drop folder that wait for a person, and what is wrong with the folder, by code; 1,000 at most.',
    },
    name: {
      musette_replication_slot_wal_bytes: 'Bytes of WAL that a replication slot retains.',
      musette_database_transaction_age:
        'Age of the oldest unfrozen transaction ID on the server, in transactions; Postgres stops near 2.1 billion.',
      musette_database_collation_changed:
        'Whether the collation changed since the indexes were built (1) or not (0).',
    },
    '': {
      musette_samples_bytes: 'Bytes on disk of the table training.samples and its index.',
      musette_database_bytes: 'Bytes on disk of the whole database.',
    },
  },
  async read({ health, risks, read }) {
    const accounts = await health()
    const counts = await read(findCounts)
    return [
      ...accounts.map(({ account, ...of }) => ({
        labels: { account },
        values: {
          musette_account_freshness_seconds: of.polled_at ?? Number.POSITIVE_INFINITY,
          musette_account_needs_login: of.needs_login,
          ...(of.token_obtained_at && {
            musette_token_age_seconds: of.token_obtained_at,
            musette_token_expires_seconds: { until: of.token_expires_at },
            musette_token_refresh_failures: of.refresh_failures,
            musette_token_refused_seconds: of.refused_since ?? 0,
          }),
        },
      })),
      ...counts.activities.flatMap(({ account, state, count, ...of }) => [
        { labels: { account, state }, values: { musette_activities: count } },
        ...(state === 'wanted'
          ? [{ labels: { account }, values: { musette_backfill_to_go: of.never_fetched } }]
          : []),
        ...(state === 'mirrored' ? [{ labels: { account }, values: comparedOf(of) }] : []),
      ]),
      ...counts.uploads.map(({ count, ...labels }) => ({ labels, values: { musette_uploads: count } })),
      ...[...WAITING_CODES.map((code) => ({ code, count: 0 })), ...counts.waiting].map(({ code, count }) => ({
        labels: { code },
        values: { musette_drop_folder_waiting: count },
      })),
      { values: counts.sizes },
      ...(await risks()).map(({ code, name, size }) => ({
        labels: { name },
        values: { [RISKS[code]]: size },
      })),
    ]
  },
})

/**
 * The comparison with the service: the oldest time for a mirrored activity, the number of activities without a comparison, and the number
 * of activities that differed within 30 days.
 */
type Compared = { since: Date | null; unverified: number; differed: number }

const comparedOf = ({ since, unverified, differed }: Compared) => ({
  musette_verified_age_seconds: unverified > 0 ? Number.POSITIVE_INFINITY : since,
  musette_scrub_differences: differed,
})

type StateCount = { account: string; state: string; count: number }

/**
 * Counts activities and files by state and measures the database. Every account has a count for every state, even if it is 0. `absent`
 * counts the activities that the service no longer lists, whatever their state. Reads activities and uploads once, and no samples.
 */
async function findCounts({ client }: Tx) {
  const counted = await client.query<StateCount & Compared & { never_fetched: number }>(
    `select a.name as account, s.state, coalesce(v.count, 0) as count, coalesce(v.never_fetched, 0) as never_fetched, v.since,
            coalesce(v.unverified, 0) as unverified, d.differed
     from training.accounts a cross join lateral (${FOUND_DIFFERENT}) d cross join unnest($1::text[]) s(state)
     left join (
       select account_id, case when absent_since is null then detail_state else 'absent' end as state, count(*)::int as count,
              count(*) filter (where fetched_at is null)::int as never_fetched,
              min(verified_at) as since, count(*) filter (where verified_at is null)::int as unverified
       from training.activities group by 1, 2
     ) v on v.account_id = a.account_id and v.state = s.state
     order by a.account_id, s.state`,
    [[...activities.detailState.enumValues, 'absent']],
  )
  const files = await client.query<StateCount>(
    `select a.name as account, s.state, coalesce(u.count, 0) as count
     from training.accounts a cross join unnest($1::text[]) s(state)
     left join (select account_id, state, count(*)::int as count from training.uploads group by 1, 2) u
       on u.account_id = a.account_id and u.state = s.state
     order by a.account_id, s.state`,
    [uploads.state.enumValues],
  )
  const waiting = await client.query<{ code: string; count: number }>(
    `select code, count(*)::int as count from training.waiting_files where code <> '${NOT_TAKEN}' group by code`,
  )
  const sizes = await client.query<{ musette_samples_bytes: number; musette_database_bytes: number }>(
    `select (select sum(pg_total_relation_size(t)) from musette.leaves('training.samples') t)::float8 as musette_samples_bytes,
            pg_database_size(current_database())::float8 as musette_database_bytes`,
  )
  return {
    activities: counted.rows,
    uploads: files.rows,
    waiting: waiting.rows,
    sizes: sizes.rows[0] ?? {},
  }
}
