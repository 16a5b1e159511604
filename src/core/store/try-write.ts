import type pg from 'pg'
import type { Tx } from './store.ts'

/**
 * Takes pages in a database file until the end of the transaction, because even on a full disk a small row fits into an existing page. A
 * temporary table empties its file at each commit, so it leaves nothing for VACUUM, the WAL or a copy.
 */
const WRITE_ROWS = `SET LOCAL temp_tablespaces = '';
  CREATE TEMP TABLE IF NOT EXISTS musette_pages (number int) ON COMMIT DELETE ROWS;
  INSERT INTO pg_temp.musette_pages SELECT generate_series(1, 10000)`

/** Tries whether the database's disk has room, in the given transaction or in its own. Throws pg's errors. */
export async function tryRoom(client: pg.ClientBase): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT WHERE has_database_privilege(current_database(), 'TEMPORARY')`,
  )
  if (rowCount === 1) await client.query(WRITE_ROWS)
}

/** Writes a row, its number and pages, and removes the row again. All three are tried, because a disk may have room for one of them, and only the commit shows a failure. */
export async function tryWrite({ client }: Tx): Promise<void> {
  await client.query(`INSERT INTO musette.locks (name) VALUES ('write ' || pg_backend_pid())`)
  await client.query(`DELETE FROM musette.locks WHERE name = 'write ' || pg_backend_pid()`)
  await tryRoom(client)
}
