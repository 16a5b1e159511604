import { acquireNamedLock } from '../named-lock.ts'
import type { Tx } from '../store.ts'
import type { UploadKey } from './uploads.ts'

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
