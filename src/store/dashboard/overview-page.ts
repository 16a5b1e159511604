import type { Tx } from '../store.ts'
import type { ActivityLine, DroppedContent, UploadLine } from './page-rows.ts'

/**
 * The SQL columns of an ActivityLine, from activities `v` and accounts `a`. Local times are texts, because the driver would read
 * them in this machine's zone.
 */
export const ACTIVITY_LINE = `v.activity_id, a.name as account, v.name, v.activity_type,
  to_char(v.started_at_local, 'YYYY-MM-DD"T"HH24:MI:SS') as started_at_local, v.detail_state, v.elapsed_s,
  v.distance as distance_km, v.avg_power, v.xss, v.breakthrough`

/** Finds listed activities of all accounts by their start, newest first and those without a start last. */
export async function findActivityLines(tx: Tx, input: { limit: number }): Promise<ActivityLine[]> {
  // The order of the index activities_newest.
  const { rows } = await tx.client.query<ActivityLine>(
    `select ${ACTIVITY_LINE}
     from training.activities v join training.accounts a using (account_id)
     where v.absent_since is null
     order by coalesce(v.started_at, '-infinity') desc, v.activity_id desc limit $1`,
    [input.limit],
  )
  return rows
}

/** Finds the newest files of the drop folder and of `musette upload`, newest first. */
export async function findUploadLines(tx: Tx, input: { limit: number }): Promise<UploadLine[]> {
  // First the newest rows of each table by its index: Postgres would read the view, a union, as a whole to sort it.
  const newestOf = (table: string) =>
    `(select account_id, content_id, file_name, seen_at from training.${table} order by seen_at desc, content_id limit $1)`
  const { rows } = await tx.client.query<UploadLine>(
    `select a.name as account, j.file_name, j.state, j.reason, j.seen_at, extract(epoch from j.took)::float8 as took_s,
       j.activity_id, j.activity_name, j.xss
     from (${newestOf('uploads')} union all ${newestOf('upload_copies')} order by seen_at desc, content_id limit $1) n
     cross join lateral (
       select * from training.upload_journey v
       where (v.account_id, v.content_id, v.file_name, v.seen_at) = (n.account_id, n.content_id, n.file_name, n.seen_at)
       offset 0
     ) j
     join training.accounts a on a.account_id = j.account_id
     order by j.seen_at desc, j.content_id`,
    [input.limit],
  )
  return rows
}

/** Finds what became of contents of an account, by content id; those that the ledger does not know are left out. */
export async function findDroppedContents(
  tx: Tx,
  input: { account: string; contentIds: readonly string[] },
): Promise<DroppedContent[]> {
  const { rows } = await tx.client.query<DroppedContent>(
    `select u.content_id, u.file_name, u.state, u.reason, v.activity_id, v.name as activity_name
     from training.uploads u join training.accounts a using (account_id) left join training.activities v on v.activity_id = u.activity_id
     where a.name = $1 and u.content_id = any ($2)`,
    [input.account, input.contentIds],
  )
  return rows
}
