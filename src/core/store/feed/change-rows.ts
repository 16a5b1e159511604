import { ConfigError } from '../../../kit/errors.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** One change in the mirror, a row of `training.changes`. `at` is ISO 8601 in UTC with microseconds. */
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
 * Finds at most `limit` settled changes after the number `after`, in their order, of one account or of all accounts. A restore concerns every
 * account. `waiting`: later changes are recorded, but a transaction that still runs may add changes before them.
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

/** Returns the number of the newest change, or 0 if there is none. */
export async function findNewestChange(tx: Tx): Promise<number> {
  const { rows } = await tx.client.query<{ newest: number }>(
    'SELECT coalesce(max(change_id), 0)::float8 AS newest FROM training.changes',
  )
  return rows[0]?.newest ?? 0
}

/** Finds the accounts with changes after the number `since`; all accounts without `since`, or after a restore, which may have lost changes. */
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
 * Checks that every change after the number `since` still exists. Throws ConfigError `changes_pruned` if some may have been deleted, and
 * `changes_unknown` if no change had that number, because the reader then knows another database.
 */
export async function checkSince(tx: Tx, since: number): Promise<void> {
  const { rows } = await tx.client.query<{ first: number | null; last: number | null }>(
    'SELECT min(change_id)::float8 AS first, max(change_id)::float8 AS last FROM training.changes',
  )
  const { first = null, last = null } = rows[0] ?? {}
  const readAnew =
    'read the tables again, and then the changes that follow: select max(change_id) from training.changes'
  if (since > (last ?? 0)) {
    throw new ConfigError(
      'changes_unknown',
      `the newest change is ${last ?? 0}, so ${since} is from another database, or from this one before a restore; ${readAnew}`,
    )
  }
  if (first !== null && since > 0 && since < first) {
    throw new ConfigError(
      'changes_pruned',
      `changes before ${first} have been deleted, perhaps some after ${since}; ${readAnew}`,
    )
  }
}

/** Maximum rows that one statement deletes. */
const PRUNED_AT_ONCE = 10_000

/** Deletes at most `limit` changes older than 90 days and returns the number of deleted changes. Keeps the newest of the old changes, to show which changes a reader missed. */
export async function pruneChanges(tx: Tx, limit = PRUNED_AT_ONCE): Promise<number> {
  const { rowCount } = await tx.client.query(
    `WITH last AS (SELECT max(change_id) AS old FROM training.changes WHERE at < now() - interval '90 days')
     DELETE FROM training.changes WHERE change_id IN (
       SELECT change_id FROM training.changes WHERE change_id < (SELECT old FROM last) ORDER BY change_id LIMIT $1)`,
    [limit],
  )
  return rowCount ?? 0
}
