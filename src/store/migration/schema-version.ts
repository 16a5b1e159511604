import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { ConfigError, UnexpectedResponseError } from '../../kit/errors.ts'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'
import { empty, outdated } from '../database-errors.ts'
import type { Tx } from '../store.ts'

/** The table that names the migrations of a database. */
export const JOURNAL = 'musette.migrations'

/**
 * Throws ConfigError unless the database is at this version: `database_empty`, `database_unmigrated` for an older one, and
 * `database_unknown` and `database_newer` as `migrate` does. A database without tables of ours but with those of others is unknown.
 */
export async function checkSchema(tx: Tx): Promise<void> {
  const { version, target } = await findVersion(tx.client)
  if (version === target) return
  if (version > 0) throw outdated()
  await assertNoForeignTables(tx.client, { anywhere: true })
  throw empty()
}

/**
 * Finds the version of the database and that of this program. A version is the moment its last migration was generated,
 * ms since 1970; 0 is a database without migrations. Throws ConfigError unless this program has every migration of the database.
 */
export async function findVersion(
  client: pg.ClientBase,
  folder?: string,
): Promise<{ version: number; target: number }> {
  const known = await readMigrations(folder)
  const applied = await findMigrations(client)
  const [version, target] = [Math.max(0, ...applied), Math.max(...known)]
  if (version > target) throw newerDatabase()
  if (applied.some((migration) => !known.includes(migration))) throw unknownDatabase()
  return { version, target }
}

/** Finds the migrations that the database has, each as the moment it was generated, ms since 1970. */
export async function findMigrations(client: pg.ClientBase): Promise<number[]> {
  const known = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    JOURNAL,
  ])
  if (!known.rows[0]?.found) return []
  const { rows } = await client.query<{ created_at: string | null }>(
    `SELECT created_at FROM ${JOURNAL} ORDER BY created_at`,
  )
  return rows.map((row) => Number(row.created_at))
}

/**
 * Tables, views and sequences that neither Postgres, an extension, the queue nor the lock of migrations has made; first those that
 * stand where ours would be.
 */
const FOREIGN_TABLES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name, n.nspname IN ('training', 'musette') AS in_our_place
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'bullmq')
    AND (n.nspname, c.relname) NOT IN (('musette', 'lock_migration'), ('musette', 'migrations'), ('musette', 'migrations_id_seq'))
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  ORDER BY in_our_place DESC, name LIMIT 1`

/**
 * Throws ConfigError `database_unknown` when a database without migrations has tables of others: in the schemas training and
 * musette, or `anywhere`, because an address may be the one of another program's database by mistake.
 */
export async function assertNoForeignTables(
  client: pg.ClientBase,
  { anywhere }: { anywhere: boolean },
): Promise<void> {
  const { rows } = await client.query<{ name: string; in_our_place: boolean }>(FOREIGN_TABLES)
  const [found] = rows
  if (!found || !(found.in_our_place || anywhere)) return
  const repair = found.in_our_place
    ? 'use another database in DATABASE_URL'
    : 'if it is the right one all the same, run: musette migrate'
  throw new ConfigError(
    'database_unknown',
    `this database has tables that musette did not make, such as ${found.name}; ${repair}`,
  )
}

/** Reads the migrations of this program, each as the moment it was generated, ms since 1970. */
export async function readMigrations(folder?: string): Promise<number[]> {
  return (await readJournal(folder)).map(({ when }) => when)
}

type JournalEntry = Readonly<{ when: number; tag: string }>

/** Reads the migrations of this program with their names, the oldest first. */
export async function readJournal(folder: string = migrationsFolder()): Promise<readonly JournalEntry[]> {
  const text = await readFile(`${folder}/meta/_journal.json`, 'utf8')
  const journal: unknown = JSON.parse(text)
  const entries = isJournal(journal) ? journal.entries : []
  if (entries.length > 0) return entries
  throw new UnexpectedResponseError(
    'migrations_missing',
    'drizzle/meta/_journal.json has no entries; install musette again',
  )
}

function isJournal(value: unknown): value is { entries: JournalEntry[] } {
  return typeof value === 'object' && value !== null && 'entries' in value && Array.isArray(value.entries)
}

/** Returns the folder of the migrations. */
export function migrationsFolder(): string {
  return join(PROGRAM_FOLDER, 'drizzle')
}

function newerDatabase(): ConfigError {
  const message = 'this database was made by a newer musette; install that version'
  return new ConfigError('database_newer', message)
}

function unknownDatabase(): ConfigError {
  const message =
    'an earlier musette made this database, and this version cannot migrate it; take files that ' +
    'were sent already out of the drop folder, since a new ledger does not know them, use an empty database (another ' +
    'DATABASE_URL, or move the folder postgres out of the data directory), then run: musette login && musette sync'
  return new ConfigError('database_unknown', message)
}
