import pg from 'pg'

/**
 * What `lockPost` locks is a view, one for each post. Schema musette keeps other logins from it, which an advisory lock
 * would not. The lock of a row would give the transaction a number, and vacuum would wait for as long as it is open. A
 * `VACUUM` of the whole database would wait for the lock of a table, but passes views by; so does pg_dump.
 */
export type PostName = { view: string; comment: string }

/** duplicate_schema, duplicate_table, duplicate_object and unique_violation of a catalog: another process made it at the same moment. */
const MADE_MEANWHILE: ReadonlySet<string> = new Set(['42P06', '42P07', '42710', '23505'])
const LOCK_NOT_AVAILABLE = '55P03'

/** Makes what is to be locked, on an empty database too; not in a transaction. Throws pg's errors. */
export async function makePost(client: pg.ClientBase, { view, comment }: PostName): Promise<void> {
  const found = await client.query<{ schema: boolean; view: boolean }>(
    `SELECT to_regnamespace('musette') IS NOT NULL AS schema, to_regclass('musette.${view}') IS NOT NULL AS view`,
  )
  if (!found.rows[0]?.schema) await unlessMadeMeanwhile(client.query('CREATE SCHEMA IF NOT EXISTS musette'))
  if (found.rows[0]?.view) return
  await unlessMadeMeanwhile(
    client.query(
      `CREATE VIEW musette.${view} AS SELECT true AS lockable;
       COMMENT ON VIEW musette.${view} IS ${pg.escapeLiteral(comment)};
       COMMENT ON COLUMN musette.${view}.lockable IS 'Always true: the lock is what matters'`,
    ),
  )
}

/** Takes the lock to the end of the transaction, which must be allowed to write; waits for it as `lock_timeout` says. */
export async function lockPost(client: pg.ClientBase, { view }: PostName): Promise<void> {
  await client.query(`LOCK TABLE musette.${view} IN SHARE UPDATE EXCLUSIVE MODE`)
}

/** The same without waiting: false, and the transaction has failed, when another holds the lock. */
export async function tryLockPost(client: pg.ClientBase, { view }: PostName): Promise<boolean> {
  try {
    await client.query(`LOCK TABLE musette.${view} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`)
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

/** Whether anybody holds the lock; asked first, because each refusal of a lock is an error in the log of the server. */
export async function isPostHeld(client: pg.ClientBase, { view }: PostName): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT FROM pg_locks WHERE relation = to_regclass('musette.${view}') AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND mode = 'ShareUpdateExclusiveLock'`,
  )
  return rows.length > 0
}

async function unlessMadeMeanwhile(made: Promise<unknown>): Promise<void> {
  try {
    await made
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && MADE_MEANWHILE.has(error.code ?? ''))) throw error
  }
}
