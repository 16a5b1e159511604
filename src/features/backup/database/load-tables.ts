import { createHash } from 'node:crypto'
import pg from 'pg'
import { copyOut } from '../../../core/store/copy.ts'
import { disableTriggers, findTriggers } from '../../../core/store/migrate.ts'
import { ConfigError, MusetteError } from '../../../kit/errors.ts'
import { type BackupTable, findColumns, quoteColumns, quoteName, type SequenceState } from './tables.ts'

/** Tables with rows also where no account is, which are of no use to anybody later: the migrations and a daemon write them. */
const WRITTEN_WITHOUT_ACCOUNT: ReadonlySet<string> = new Set([
  'musette.locks',
  'training.database',
  'training.sync_runs',
  'training.waiting_files',
])

/**
 * Locks every table against all others and throws ConfigError `restore_not_empty` when one holds more than what a daemon
 * writes without an account. To be called first in the transaction of a restore; a database without tables is empty.
 */
export async function lockEmptyTables(client: pg.ClientBase): Promise<void> {
  const names = await findTableNames(client)
  if (names.length === 0) return
  await client.query(`LOCK TABLE ${names.map(quoteName).join(', ')} IN ACCESS EXCLUSIVE MODE`)
  const filled: string[] = []
  for (const name of names.filter((each) => !WRITTEN_WITHOUT_ACCOUNT.has(each))) {
    const { rows } = await client.query(`SELECT FROM ${quoteName(name)} LIMIT 1`)
    if (rows.length > 0) filled.push(name)
  }
  if (filled.length === 0) return
  const message =
    `this database is not empty (${filled.slice(0, 3).join(', ')}${filled.length > 3 ? ', …' : ''} have rows), and a restore ` +
    'goes into an empty one only; nothing is changed; set DATABASE_URL to an empty database, or without it MUSETTE_DATA_DIR ' +
    'to a new folder, then run it again'
  throw new ConfigError('restore_not_empty', message)
}

/**
 * Drops the empty tables, the views and the functions of our schemas, so that older migrations can make theirs. Throws ConfigError
 * `restore_schema_used` when others of the database depend on them.
 */
export async function dropEmptyTables(client: pg.ClientBase): Promise<void> {
  const { rows: views } = await client.query<{ name: string }>(
    `SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('training', 'musette') AND c.relkind = 'v' AND c.relname <> 'lock_migration'`,
  )
  const { rows: functions } = await client.query<{ name: string }>(
    `SELECT p.oid::regprocedure::text AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname IN ('training', 'musette')`,
  )
  const names = await findTableNames(client)
  const triggers = await findTriggers(client)
  const sqlNames = (some: readonly string[]) => some.map(quoteName).join(', ')
  try {
    if (views.length > 0) await client.query(`DROP VIEW ${sqlNames(views.map(({ name }) => name))}`)
    // Triggers need functions, and functions need the tables whose rows they take.
    for (const { name, table } of triggers) await client.query(`DROP TRIGGER ${name} ON ${table}`)
    if (functions.length > 0)
      await client.query(`DROP FUNCTION ${functions.map(({ name }) => name).join(', ')}`)
    await client.query(`DROP TABLE ${sqlNames([...names, 'musette.migrations'])}`)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === '2BP01')) throw error
    const message = `the backup is of an older version, and objects of others depend on the tables of this database (${error.message}); nothing is changed; use a database that was never migrated`
    throw new ConfigError('restore_schema_used', message)
  }
}

/**
 * Makes empty tables ready to be loaded in this transaction, and switches their triggers off: the rows hold already what those
 * would write. Returns the function that switches them on again.
 */
export async function prepareTables(client: pg.ClientBase, tables: readonly BackupTable[]) {
  const names = tables.map(({ name }) => quoteName(name))
  // New files for the empty tables: Postgres may then write rows as frozen, and without a log where no replica needs one. New
  // ones also for the sequences, because a setval is not taken back with its transaction.
  await client.query(`TRUNCATE ${names.join(', ')} RESTART IDENTITY`)
  return disableTriggers(client)
}

/** Computes the SHA-256 of all rows of a table in their loaded order, in COPY format. */
export async function digestTable(client: pg.ClientBase, table: BackupTable): Promise<string> {
  const digest = createHash('sha256')
  const { chunks } = copyOut(client, quoteColumns(table))
  for await (const chunk of chunks) digest.update(chunk)
  return digest.digest('hex')
}

/** Sets the next numbers of identity columns of prepared tables. Throws MusetteError `sequence_missing`. */
export async function setSequences(client: pg.ClientBase, sequences: readonly SequenceState[]) {
  for (const { name, last_value, is_called } of sequences) {
    const text = 'SELECT setval(to_regclass($1), $2::bigint, $3) AS value'
    const { rows } = await client.query(text, [quoteName(name), last_value, is_called])
    if (rows[0]?.value === null)
      throw new MusetteError('sequence_missing', `store: there is no sequence ${name}`)
  }
}

/** The statement that gives a restored database another line, see musette.begin_line in the database; `madeAt` is the moment of the backup. */
export function makeBeginLine(madeAt: string): string {
  const about = pg.escapeLiteral(JSON.stringify({ backup_made_at: madeAt }))
  return `SELECT musette.begin_line('backup', ${about})`
}

/** Gathers the planner's statistics of every table and makes the summaries of BRIN indexes, which a COPY does not. */
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
