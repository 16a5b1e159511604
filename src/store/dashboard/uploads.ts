import type { Tx } from '../store.ts'

/** A file of the drop folder and what became of it. */
export type UploadLine = {
  account: string
  file_name: string
  state: string
  reason: string | null
  seen_at: Date
  took_s: number | null
  activity_id: number | null
  activity_name: string | null
  xss: number | null
}

/** Finds the files that were seen last, newest first. */
export async function findUploadLines(tx: Tx, input: { limit: number }): Promise<UploadLine[]> {
  // The newest of each table by its index first: the view is a union, which Postgres would read whole to sort it.
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
