import { findIdentity } from '../database-facts.ts'
import type { Tx } from '../store.ts'

/** The newest change of a line, as it was once seen; `at` with microseconds. */
export type SeenChange = Readonly<{ line: string; changeId: number; at: string }>

/** Holds when the database has never had this change, because it goes on from a moment before it. */
const PUT_BACK = `FROM training.database d, training.changes_change_id_seq s
  WHERE NOT pg_is_in_recovery() AND ($1 <> ALL (d.earlier_lines || d.line) OR $1 = d.line AND (
    s.last_value < $2 OR EXISTS (SELECT FROM training.changes WHERE change_id = $2 AND at <> $3)))`

/**
 * Begins a new line when Postgres tells that the database has moved, see musette.follow_database there, or when the change that was `seen`
 * shows that its files were put back, which Postgres cannot tell. Finds identity and line, and the newest change, undefined without any.
 */
export async function followDatabase(tx: Tx, seen?: SeenChange) {
  const values = seen && [seen.line, seen.changeId, seen.at]
  if (values && (await tx.client.query(`SELECT ${PUT_BACK}`, values)).rowCount === 1) {
    // Another process may begin it at this moment.
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
 * Begins a line in a copy of a database's files, which Postgres cannot tell; the lines before it, and their folders, are those of the other
 * one. Finds identity and line.
 */
export async function beginCopy(tx: Tx) {
  await tx.client.query(`SELECT musette.begin_line('copy')`)
  await tx.client.query(`UPDATE training.database SET earlier_lines = '{}'`)
  return findIdentity(tx)
}
