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
  const { rows } = await tx.client.query<UploadLine>(
    `select a.name as account, j.file_name, j.state, j.reason, j.seen_at, extract(epoch from j.took)::float8 as took_s,
       j.activity_id, j.activity_name, j.xss
     from training.upload_journey j join training.accounts a using (account_id)
     order by j.seen_at desc, j.content_id limit $1`,
    [input.limit],
  )
  return rows
}
