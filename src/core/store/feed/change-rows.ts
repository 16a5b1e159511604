import { ConfigError } from '../../../kit/errors.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** One thing that became different, a row of `training.changes`. `at` is ISO 8601 in UTC with microseconds. */
export type Change = Readonly<{
  changeId: number
  /** null for the default workout list */
  accountId: number | null
  account: string | null
  at: string
  kind: string
  path: string | null
  detail: { readonly [key: string]: Json }
}>

/**
 * Finds the settled changes after the number `after` in their order, of one account or of all, at most `limit`; a restore concerns every
 * account. `waiting`: others are recorded, but a transaction that still runs may come before them.
 */
export async function findChanges(
  tx: Tx,
  input: { after: number; limit: number; accountId?: number | undefined },
) {
  const { after, limit, accountId = null } = input
  const { rows } = await tx.client.query<Change>(
    `SELECT c.change_id::float8 AS "changeId", c.account_id AS "accountId", a.name AS account,
       to_jsonb(c.at) #>> '{}' AS at, c.kind, c.path, c.detail
     FROM training.changes_settled c LEFT JOIN training.accounts a USING (account_id)
     WHERE c.change_id > $1 AND ($3::int IS NULL OR c.account_id = $3 OR c.kind = 'restored')
     ORDER BY c.change_id LIMIT $2`,
    [after, limit, accountId],
  )
  if (rows.length > 0) return { changes: rows, waiting: false }
  const found = await tx.client.query(
    'SELECT FROM training.changes WHERE change_id > $1 AND ($2::int IS NULL OR account_id = $2) LIMIT 1',
    [after, accountId],
  )
  return { changes: rows, waiting: found.rows.length > 0 }
}

/** Finds the number of the newest change; 0 without any. */
export async function findNewestChange(tx: Tx): Promise<number> {
  const { rows } = await tx.client.query<{ newest: number }>(
    'SELECT coalesce(max(change_id), 0)::float8 AS newest FROM training.changes',
  )
  return rows[0]?.newest ?? 0
}

/** Finds the accounts with changes after the number `since`; all of them without one, and when the database has moved since, because changes may be lost. */
export async function findChangedAccounts(tx: Tx, since = -1): Promise<{ accountId: number }[]> {
  const { rows } = await tx.client.query<{ accountId: number }>(
    `WITH later AS (SELECT account_id, kind FROM training.changes WHERE change_id > $1)
     SELECT account_id AS "accountId" FROM training.accounts WHERE account_id IN (SELECT account_id FROM later)
       OR $1 < 0 OR EXISTS (SELECT FROM later WHERE kind = 'restored') ORDER BY 1`,
    [since],
  )
  return rows
}

/**
 * Checks that every change after the number `since` is still there. Throws ConfigError `changes_pruned` when some may have been
 * deleted, and `changes_unknown` when no change had that number: the reader knows another database.
 */
export async function checkSince(tx: Tx, since: number): Promise<void> {
  const { rows } = await tx.client.query<{ first: number | null; last: number | null }>(
    'SELECT min(change_id)::float8 AS first, max(change_id)::float8 AS last FROM training.changes',
  )
  const { first = null, last = null } = rows[0] ?? {}
  const readAnew =
    'read the tables anew, and then the changes from now on: select max(change_id) from training.changes'
  if (since > (last ?? 0)) {
    throw new ConfigError(
      'changes_unknown',
      `the newest change is ${last ?? 0}, so ${since} is of another database, or of this one before a restore; ${readAnew}`,
    )
  }
  if (first !== null && since > 0 && since < first) {
    throw new ConfigError(
      'changes_pruned',
      `the oldest change that is kept is ${first}, and those before it are deleted, perhaps some after ${since}; ${readAnew}`,
    )
  }
}

/** How many rows one statement deletes. */
const PRUNED_AT_ONCE = 10_000

/** Deletes at most `limit` changes that are older than 90 days, and returns how many. The newest of them stays, to show what a reader missed. */
export async function pruneChanges(tx: Tx, limit = PRUNED_AT_ONCE): Promise<number> {
  const { rowCount } = await tx.client.query(
    `WITH last AS (SELECT max(change_id) AS old FROM training.changes WHERE at < now() - interval '90 days')
     DELETE FROM training.changes WHERE change_id IN (
       SELECT change_id FROM training.changes WHERE change_id < (SELECT old FROM last) ORDER BY change_id LIMIT $1)`,
    [limit],
  )
  return rowCount ?? 0
}
