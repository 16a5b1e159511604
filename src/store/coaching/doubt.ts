import type { Tx } from '../store.ts'

/** Finds when runs of a resource began to fail with this code since its last good run; undefined when none did. */
export async function findFailingSince(
  tx: Tx,
  input: { accountId: number; resource: string; errorCode: string },
): Promise<Date | undefined> {
  const { rows } = await tx.client.query<{ since: Date | null }>(
    `select min(started_at) as since from training.sync_runs
     where account_id = $1 and resource = $2 and error_code = $3 and started_at > coalesce(
       (select max(started_at) from training.sync_runs
        where account_id = $1 and resource = $2 and outcome in ('done', 'partial')), '-infinity')`,
    [input.accountId, input.resource, input.errorCode],
  )
  return rows[0]?.since ?? undefined
}
