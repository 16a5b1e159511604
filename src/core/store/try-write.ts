import type pg from 'pg'
import type { Tx } from './store.ts'

/**
 * Takes pages in a file of the database until the end of the transaction: a small row fits into a page that is there, also on a full disk. A
 * temporary table empties its file at each commit, and so leaves nothing for VACUUM, the log or a copy.
 */
const WRITE_ROWS = `SET LOCAL temp_tablespaces = '';
  CREATE TEMP TABLE IF NOT EXISTS musette_pages (number int) ON COMMIT DELETE ROWS;
  INSERT INTO pg_temp.musette_pages SELECT generate_series(1, 10000)`

/** Tries in a transaction, or in one of its own, whether the disk of the database has room. Throws pg's errors. */
export async function tryRoom(client: pg.ClientBase): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT WHERE has_database_privilege(current_database(), 'TEMPORARY')`,
  )
  if (rowCount === 1) await client.query(WRITE_ROWS)
}

/** Writes a row of ours, its number and pages, and takes the row back: a disk may have room for one of them, and the commit decides. */
export async function tryWrite({ client }: Tx): Promise<void> {
  await client.query(`INSERT INTO musette.locks (name) VALUES ('write ' || pg_backend_pid())`)
  await client.query(`DELETE FROM musette.locks WHERE name = 'write ' || pg_backend_pid()`)
  await tryRoom(client)
}
