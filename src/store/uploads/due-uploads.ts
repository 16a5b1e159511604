import type { Tx } from '../store.ts'
import type { UploadKey } from './uploads.ts'

/**
 * Finds the ledger rows of all signed-in accounts whose state must be checked at the service at `now`, longest due first: the
 * sender has died, the answer was lost, the file is accepted but its activity cannot be fetched, or the activity of a mirrored
 * file has vanished (checked once).
 */
export async function findDueUploads(tx: Tx, input: { now: Date; limit: number }): Promise<UploadKey[]> {
  const { rows } = await tx.client.query<{ account_id: number; content_id: string }>(
    `select u.account_id, u.content_id
     from training.uploads u
       join training.accounts c on c.account_id = u.account_id and not c.needs_login
       left join training.activities a on a.activity_id = u.activity_id
     where ((u.next_try_at <= $1 and (u.state in ('sending', 'unconfirmed')
         or (u.state = 'accepted'
             and (a.activity_id is null or a.absent_since is not null or a.detail_state = 'failed'))))
       or (u.state = 'mirrored' and u.checks = 0 and a.absent_since is not null))
     order by u.next_try_at nulls last limit $2`,
    [input.now, input.limit],
  )
  return rows.map((row) => ({ accountId: row.account_id, contentId: row.content_id }))
}

/**
 * Records accepted uploads as mirrored whose activity is complete, also when a poll fetched it before the ledger knew of it, or
 * when the service has no samples of it. Returns their number.
 */
export async function recordUploadsComplete(tx: Tx, input: { now: Date }): Promise<number> {
  const { rowCount } = await tx.client.query(
    `update training.uploads u set state = 'mirrored', mirrored_at = $1, next_try_at = null, checks = 0
     from training.activities a
     where a.activity_id = u.activity_id and u.state = 'accepted'
       and a.detail_state = 'mirrored' and a.absent_since is null`,
    [input.now],
  )
  return rowCount ?? 0
}
