import { lockName } from '../leader-lock.ts'
import type { Tx } from '../store.ts'
import type { UploadKey } from './uploads.ts'

/**
 * Finds the ledger rows of all signed-in accounts that want a look at the service at `now`, longest due first: sent by a process
 * that has died, sent with a lost answer, taken but without an activity that can be fetched, or mirrored from an
 * activity that has vanished since (looked for once).
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
       or (u.state = 'mirrored' and u.looks = 0 and a.absent_since is not null))
     order by u.next_try_at nulls last limit $2`,
    [input.now, input.limit],
  )
  return rows.map((row) => ({ accountId: row.account_id, contentId: row.content_id }))
}

/**
 * Records as mirrored what was taken and whose activity is complete, however it came here: by a poll before the ledger
 * knew of it, or without any samples because the service has none. Returns how many.
 */
export async function recordUploadsComplete(tx: Tx, input: { now: Date }): Promise<number> {
  const { rowCount } = await tx.client.query(
    `update training.uploads u set state = 'mirrored', mirrored_at = $1, next_try_at = null, looks = 0
     from training.activities a
     where a.activity_id = u.activity_id and u.state = 'accepted'
       and a.detail_state = 'mirrored' and a.absent_since is null`,
    [input.now],
  )
  return rowCount ?? 0
}

/** What is known of an activity that may have come from a file. `complete`: mirrored with samples, and listed. */
type KnownPath = { path: string; activityId: number; firstSeenAt: Date; complete: boolean }

/** Everything that speaks for or against an activity having come from one file. */
export type Claims = {
  /** paths that other contents stand for, with the name of their file */
  claimed: ReadonlyMap<string, string>
  /** what the mirror knows of the paths asked for */
  known: ReadonlyMap<string, KnownPath>
  /** starts of other contents that also look for their activity */
  rivals: readonly Date[]
}

/**
 * Finds who stands for the activities `paths`, and waits for others who decide the same for this account: until the end
 * of the transaction nobody else claims one.
 */
export async function findClaims(tx: Tx, key: UploadKey, paths: readonly string[]): Promise<Claims> {
  await lockName(tx, `uploads ${key.accountId}`)
  const claimed = await tx.client.query<{ path: string; file_name: string }>(
    `select activity_path as path, file_name from training.uploads
     where account_id = $1 and content_id <> $2 and activity_path = any($3::text[])`,
    [key.accountId, key.contentId, paths],
  )
  const known = await tx.client.query<{ path: string; id: number; first_seen_at: Date; complete: boolean }>(
    `select path, activity_id as id, first_seen_at,
       detail_state = 'mirrored' and coalesce(sample_count, 0) > 0 and absent_since is null as complete
     from training.activities where account_id = $1 and path = any($2::text[])`,
    [key.accountId, paths],
  )
  const rivals = await tx.client.query<{ started_at: Date }>(
    `select started_at from training.uploads
     where account_id = $1 and content_id <> $2 and started_at is not null and activity_path is null
       and state in ('sending', 'unconfirmed', 'accepted')`,
    [key.accountId, key.contentId],
  )
  return {
    claimed: new Map(claimed.rows.map((row) => [row.path, row.file_name])),
    known: new Map(
      known.rows.map((row) => [
        row.path,
        { path: row.path, activityId: row.id, firstSeenAt: row.first_seen_at, complete: row.complete },
      ]),
    ),
    rivals: rivals.rows.map((row) => row.started_at),
  }
}
