import { findIdentity } from '../database-facts.ts'
import type { Tx } from '../store.ts'

/** The newest change that was last seen in a database line (see `line` in kit/folders/folder-owner.ts); `at` has microseconds. */
export type SeenChange = Readonly<{ line: string; changeId: number; at: string }>

/** Selects a row if the database never had this change, which happens if the database was restored to an earlier moment. */
const PUT_BACK = `FROM training.database d, training.changes_change_id_seq s
  WHERE NOT pg_is_in_recovery() AND ($1 <> ALL (d.earlier_lines || d.line) OR $1 = d.line AND (
    s.last_value < $2 OR EXISTS (SELECT FROM training.changes WHERE change_id = $2 AND at <> $3)))`

/**
 * Begins a new line if Postgres shows that the database has moved (see musette.follow_database in the database), or if the change `seen` shows
 * that its files were put back, which Postgres cannot detect. Returns identity and line, and the newest change (undefined if there is none).
 */
export async function followDatabase(tx: Tx, seen?: SeenChange) {
  const values = seen && [seen.line, seen.changeId, seen.at]
  if (values && (await tx.client.query(`SELECT ${PUT_BACK}`, values)).rowCount === 1) {
    // Another process may begin the line at this moment.
    await tx.client.query('SELECT musette.lock_feed()')
    await tx.client.query(`SELECT musette.begin_line('earlier') ${PUT_BACK}`, values)
  }
  await tx.client.query('SELECT musette.follow_database()')
  const { rows } = await tx.client.query<SeenChange>(
    `SELECT d.line, c.change_id::float8 AS "changeId", to_jsonb(c.at) #>> '{}' AS at
     FROM training.database d, training.changes c ORDER BY c.change_id DESC LIMIT 1`,
  )
  return { database: await findIdentity(tx), newest: rows[0] }
}

/**
 * Begins a new line in a copy of a database's files, which Postgres cannot detect. Clears the earlier lines, because they and their folders
 * belong to the original. Returns identity and line.
 */
export async function beginCopy(tx: Tx) {
  await tx.client.query(`SELECT musette.begin_line('copy')`)
  await tx.client.query(`UPDATE training.database SET earlier_lines = '{}'`)
  return findIdentity(tx)
}
