import type { Tx } from '../store.ts'

/**
 * Makes the activity of an accepted upload wanted before a list contains it, and returns its `activity_id`. A known activity
 * becomes wanted again, and is no longer absent.
 */
export async function upsertUploaded(
  tx: Tx,
  input: { accountId: number; path: string; listedAt: Date },
): Promise<number> {
  const { rows } = await tx.client.query<{ activity_id: number }>(
    `insert into training.activities as a (account_id, path, detail_state, listed_at, wanted_at)
     values ($1, $2, 'wanted', $3, $3)
     on conflict (account_id, path) do update
       set detail_state = 'wanted', wanted_at = greatest(a.wanted_at, excluded.wanted_at), next_fetch_at = null,
         absent_since = null
     returning activity_id`,
    [input.accountId, input.path, input.listedAt],
  )
  const [row] = rows
  if (!row) throw new Error('an upsert returns its row')
  return row.activity_id
}

/** Marks the accepted uploads of these activities, if there are any, as mirrored. */
export async function recordUploadsMirrored(
  tx: Tx,
  input: { activityIds: readonly number[]; mirroredAt: Date },
): Promise<void> {
  if (input.activityIds.length === 0) return
  await tx.client.query(
    `update training.uploads set state = 'mirrored', mirrored_at = $2, next_try_at = null, looks = 0
     where activity_id = any ($1) and state = 'accepted'`,
    [input.activityIds, input.mirroredAt],
  )
}
