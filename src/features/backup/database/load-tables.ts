import pg from 'pg'
import { ConfigError, MusetteError } from '../../../kit/errors.ts'
import { findColumns, quoteName, type SequenceState } from './tables.ts'

/**
 * Tables that may have rows even if there is no account, because the migrations and a daemon fill them. A restore may discard these rows.
 */
const WRITTEN_WITHOUT_ACCOUNT: ReadonlySet<string> = new Set([
  'musette.locks',
  'training.database',
  'training.sync_runs',
  'training.waiting_files',
])

/**
 * Locks every table exclusively. Throws ConfigError `restore_not_empty` if a table has rows other than those that a daemon writes without
 * an account. Must be the first step of a restore's transaction. A database without tables counts as empty.
 */
export async function lockEmptyTables(client: pg.ClientBase): Promise<void> {
  const names = await findTableNames(client)
  if (names.length === 0) return
  await client.query(`LOCK TABLE ${names.map(quoteName).join(', ')} IN ACCESS EXCLUSIVE MODE`)
  const each = names
    .filter((name) => !WRITTEN_WITHOUT_ACCOUNT.has(name))
    .map((name) => `(SELECT ${pg.escapeLiteral(name)} AS name FROM ${quoteName(name)} LIMIT 1)`)
  const { rows } = await client.query<{ name: string }>(each.join(' UNION ALL '))
  const filled = rows.map(({ name }) => name)
  if (filled.length === 0) return
  const message =
    `this database is not empty (${filled.slice(0, 3).join(', ')}${filled.length > 3 ? ', …' : ''} have rows), and a restore ` +
    'goes into an empty one only; nothing is changed; set DATABASE_URL to an empty database, or without it MUSETTE_DATA_DIR ' +
    'to a new folder, then run it again'
  throw new ConfigError('restore_not_empty', message)
}

/**
 * Drops the empty tables, the views and the functions of our schemas, so that older migrations can make them again. Throws ConfigError
 * `restore_schema_used` if foreign objects depend on them.
 */
export async function dropEmptyTables(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ text: string }>(
    `WITH ours AS (SELECT oid FROM pg_namespace WHERE nspname IN ('training', 'musette'))
     SELECT format('DROP TRIGGER %I ON %s', t.tgname, c.oid::regclass) AS text
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace IN (TABLE ours) AND NOT t.tgisinternal
     UNION ALL
     SELECT format('DROP VIEW %s', oid::regclass)
     FROM pg_class WHERE relnamespace IN (TABLE ours) AND relkind = 'v' AND relname <> 'lock_migration'
     UNION ALL
     SELECT format('DROP FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE pronamespace IN (TABLE ours)
     UNION ALL
     SELECT 'DROP TABLE ' || string_agg(oid::regclass::text, ', ')
     FROM pg_class WHERE relnamespace IN (TABLE ours) AND relkind IN ('r', 'p') HAVING count(*) > 0`,
  )
  // Views and functions depend on each other in any order. An object that is still needed is dropped in a later round.
  let left = rows.map(({ text }) => text)
  while (left.length > 0) {
    const needed = new Map<string, pg.DatabaseError>()
    for (const text of left) {
      const error = await dropUnneeded(client, text)
      if (error) needed.set(text, error)
    }
    const [error] = needed.values()
    if (error && needed.size === left.length) {
      const message = `the backup is of an older version, and foreign objects depend on the tables of this database (${error.message}); nothing is changed; use a database that was never migrated`
      throw new ConfigError('restore_schema_used', message)
    }
    left = [...needed.keys()]
  }
}

/** Drops an object; returns the error if other objects depend on it. */
async function dropUnneeded(client: pg.ClientBase, text: string): Promise<pg.DatabaseError | undefined> {
  await client.query('SAVEPOINT object')
  try {
    await client.query(text)
    return undefined
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === '2BP01')) throw error
    await client.query('ROLLBACK TO SAVEPOINT object')
    return error
  } finally {
    await client.query('RELEASE SAVEPOINT object').catch(() => undefined)
  }
}

/** Sets the sequences of the tables' identity columns. Throws MusetteError `sequence_missing`. */
export async function setSequences(client: pg.ClientBase, sequences: readonly SequenceState[]) {
  for (const { name, last_value, is_called } of sequences) {
    const text = 'SELECT setval(to_regclass($1), $2::bigint, $3) AS value'
    const { rows } = await client.query(text, [quoteName(name), last_value, is_called])
    if (rows[0]?.value === null)
      throw new MusetteError('sequence_missing', `store: there is no sequence ${name}`)
  }
}

/**
 * Returns the statement that begins a new line for a restored database, see musette.begin_line in the database; `madeAt` is the time of the
 * backup.
 */
export function makeBeginLine(madeAt: string): string {
  const about = pg.escapeLiteral(JSON.stringify({ backup_made_at: madeAt }))
  return `SELECT musette.begin_line('backup', ${about})`
}

/** Gathers the planner's statistics of every table and summarizes the BRIN indexes, because COPY does neither. */
export async function analyzeTables(client: pg.ClientBase): Promise<void> {
  await client.query(
    `SELECT brin_summarize_new_values(i.indexrelid) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
       JOIN pg_am m ON m.oid = x.relam AND m.amname = 'brin' JOIN pg_namespace n ON n.oid = x.relnamespace
     WHERE n.nspname IN ('training', 'musette')`,
  )
  const names = await findTableNames(client)
  await client.query(`ANALYZE ${names.map(quoteName).join(', ')}`)
}

const findTableNames = async (client: pg.ClientBase) => [...(await findColumns(client)).keys()]
