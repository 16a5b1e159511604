import { acquireNamedLock } from '../named-lock.ts'
import type { Tx } from '../store.ts'
import type { UploadKey } from './uploads.ts'

/** An activity that a file may have become. `complete`: mirrored with samples, and listed. */
type KnownPath = { path: string; activityId: number; firstSeenAt: Date; complete: boolean }

/** The facts that decide whether an activity came from a file. */
export type Claims = {
  /** paths that belong to other contents, with the name of their file */
  claimed: ReadonlyMap<string, string>
  /** the mirrored activities among the given paths */
  known: ReadonlyMap<string, KnownPath>
  /** starts of other contents whose activity is not known yet */
  rivals: readonly Date[]
}

/**
 * Finds the contents that the activities `paths` belong to. Locks the account's claims until the transaction ends, so that no
 * other process claims one meanwhile.
 */
export async function findClaims(tx: Tx, key: UploadKey, paths: readonly string[]): Promise<Claims> {
  await acquireNamedLock(tx, 'uploads', key.accountId)
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
