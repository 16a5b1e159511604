import pg from 'pg'

/**
 * Migrations lock a view, because the table of named locks does not exist before the first one. A `VACUUM` of the whole database
 * would wait for the lock of a table; it does not touch views, and neither does pg_dump.
 */
const VIEW = 'musette.lock_migration'

/** duplicate_schema, duplicate_table, duplicate_object and unique_violation of a catalog: another process made it at the same moment. */
const MADE_MEANWHILE: ReadonlySet<string> = new Set(['42P06', '42P07', '42710', '23505'])

/** Creates the lock of migrations, on an empty database too; not in a transaction. Throws pg's errors. */
export async function createMigrationLock(client: pg.ClientBase): Promise<void> {
  const found = await client.query<{ schema: boolean; view: boolean }>(
    `SELECT to_regnamespace('musette') IS NOT NULL AS schema, to_regclass('${VIEW}') IS NOT NULL AS view`,
  )
  if (!found.rows[0]?.schema) await unlessMadeMeanwhile(client.query('CREATE SCHEMA IF NOT EXISTS musette'))
  if (found.rows[0]?.view) return
  await unlessMadeMeanwhile(
    client.query(
      `CREATE VIEW ${VIEW} AS SELECT true AS lockable;
       COMMENT ON VIEW ${VIEW} IS 'Locked by the process that migrates this database';
       COMMENT ON COLUMN ${VIEW}.lockable IS 'Always true: the lock is what matters'`,
    ),
  )
}

/** Takes the lock to the end of the transaction, which must be allowed to write; waits for it as `lock_timeout` says. */
export async function lockMigrations(client: pg.ClientBase): Promise<void> {
  await client.query(`LOCK TABLE ${VIEW} IN SHARE UPDATE EXCLUSIVE MODE`)
}

async function unlessMadeMeanwhile(made: Promise<unknown>): Promise<void> {
  try {
    await made
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && MADE_MEANWHILE.has(error.code ?? ''))) throw error
  }
}
