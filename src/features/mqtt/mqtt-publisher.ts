import { cleanNullable } from '../../core/store/clean.ts'
import type { Tx } from '../../core/store/store.ts'
import { MINUTE } from '../../kit/time.ts'

/** Returns the id of this database's publisher. The first call makes the id, and the publisher sends events only of later changes. */
export async function recordPublisher(tx: Tx): Promise<string> {
  await tx.client.query(
    `insert into musette.mqtt_publisher (change_id) select coalesce(max(change_id), 0) from training.changes on conflict do nothing`,
  )
  const { rows } = await tx.client.query<{ id: string }>(
    'select publisher_id as id from musette.mqtt_publisher',
  )
  if (!rows[0]) throw new Error('an insert leaves a row')
  return rows[0].id
}

/** Finds the last change whose events the broker has confirmed. */
export async function findPublishedUpTo(tx: Tx): Promise<number> {
  const { rows } = await tx.client.query<{ changeId: number }>(
    'select change_id::float8 as "changeId" from musette.mqtt_publisher',
  )
  return rows[0]?.changeId ?? 0
}

export async function recordPublishedUpTo(tx: Tx, changeId: number): Promise<void> {
  await tx.client.query('update musette.mqtt_publisher set change_id = greatest(change_id, $1)', [changeId])
}

/** Records that the publisher has just checked the mirror, and whether it published something or why it cannot publish. */
export async function recordPublisherState(
  tx: Tx,
  { published, problem }: { published: boolean; problem: string | null },
): Promise<void> {
  await tx.client.query(
    `update musette.mqtt_publisher set looked_at = clock_timestamp(), problem = $2,
       published_at = case when $1 then clock_timestamp() else published_at end`,
    [published, cleanNullable(problem)],
  )
}

/** The state of the connection to the broker: `connected` if a publisher that is still checking the mirror has the connection. */
export type PublisherState = { connected: boolean; published_at: Date | null; problem: string | null }

/** Time without a check of the mirror after which the publisher counts as gone, ms, because a killed publisher records nothing. */
const SILENT_AFTER_MS = 3 * MINUTE

/** Finds the state of the publisher; returns undefined before its first connection. */
export async function findPublisherState(tx: Tx): Promise<PublisherState | undefined> {
  const { rows } = await tx.client.query<PublisherState>(
    `select problem is null and looked_at > clock_timestamp() - make_interval(secs => $1) as connected, published_at, problem
     from musette.mqtt_publisher where looked_at is not null`,
    [SILENT_AFTER_MS / 1_000],
  )
  return rows[0]
}
