import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { ConfigError, UnexpectedResponseError } from '../../../kit/errors.ts'
import { PROGRAM_FOLDER, VERSION } from '../../../kit/program-folder.ts'
import { empty, outdated } from '../database-errors.ts'
import type { Tx } from '../store.ts'

/** The table that lists the migrations of a database. */
export const JOURNAL = 'musette.migrations'

/** Creates the table; the first migration adds its comment. */
export const CREATE_JOURNAL = `
  CREATE TABLE IF NOT EXISTS ${JOURNAL} (
    id serial PRIMARY KEY,
    hash text NOT NULL,
    created_at bigint
  );
  ALTER TABLE ${JOURNAL} ADD COLUMN IF NOT EXISTS musette text;
  COMMENT ON COLUMN ${JOURNAL}.musette IS 'Version of musette that applied it; NULL where that is not recorded'`

/**
 * Throws ConfigError unless the database is at this version: `database_empty`, `database_unmigrated` for an older version, and
 * `database_unknown` or `database_newer` as `migrate` does. A database that has only tables of other programs is unknown.
 */
export async function checkSchema(tx: Tx): Promise<void> {
  const { version, target } = await findVersion(tx.client)
  if (version === target) return
  if (version > 0) throw outdated()
  await assertNoForeignTables(tx.client, { anywhere: true })
  throw empty()
}

type Version = {
  /** when the database's last migration was generated, ms since 1970; 0 without migrations */
  version: number
  /** when this program's last migration was generated */
  target: number
  /** version of musette that applied the last migration; undefined if none is recorded */
  madeBy: string | undefined
}

/**
 * Finds the versions of the database and of this program. A version is when its last migration was generated, ms since 1970, or 0 for a
 * database without migrations. Throws ConfigError unless this program has every migration of the database.
 */
export async function findVersion(client: pg.ClientBase, folder?: string): Promise<Version> {
  return compareVersions(await findApplied(client), await readMigrations(folder))
}

/** Compares a database's migrations with the migrations of a program of any version. Throws as findVersion does. */
export function compareVersions(applied: readonly AppliedMigration[], known: readonly number[]): Version {
  const last = applied.reduce<AppliedMigration | undefined>(
    (newest, each) => (each.moment > (newest?.moment ?? 0) ? each : newest),
    undefined,
  )
  const [version, target, madeBy] = [last?.moment ?? 0, Math.max(...known), last?.musette]
  if (version > target) {
    const other = otherVersion(madeBy)
    const message = `this database was made by a newer musette${other === undefined ? '' : `, ${other}`}; install that version`
    throw new ConfigError('database_newer', message)
  }
  if (applied.some(({ moment }) => !known.includes(moment))) {
    const message =
      'this version cannot migrate this database, which an earlier musette made; take files that were already ' +
      'sent out of the drop folder, because a new ledger does not know them, use an empty database (another ' +
      'DATABASE_URL, or move the folder postgres out of the data directory), then run: musette login && musette sync'
    throw new ConfigError('database_unknown', message)
  }
  return { version, target, madeBy }
}

/** A migration that a database has: when it was generated, ms since 1970, and the version of musette that applied it. */
type AppliedMigration = { moment: number; musette: string | undefined }

/** Returns when each migration of the database was generated, ms since 1970. */
export async function findMigrations(client: pg.ClientBase): Promise<number[]> {
  return (await findApplied(client)).map(({ moment }) => moment)
}

export async function findApplied(client: pg.ClientBase): Promise<AppliedMigration[]> {
  const known = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    JOURNAL,
  ])
  if (!known.rows[0]?.found) return []
  // A journal of 1.0 has no versions.
  const { rows } = await client.query<{ created_at: string | null; musette: string | null }>(
    `SELECT m.created_at, to_jsonb(m) ->> 'musette' AS musette FROM ${JOURNAL} m ORDER BY 1`,
  )
  return rows.map(({ created_at, musette }) => ({
    moment: Number(created_at),
    musette: musette ?? undefined,
  }))
}

/** Tables, views and sequences that do not belong to Postgres, an extension, the job queue or the migrations; those in our schemas first. */
const FOREIGN_TABLES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name, n.nspname IN ('training', 'musette') AS in_our_place
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'bullmq')
    AND (n.nspname, c.relname) NOT IN (('musette', 'lock_migration'), ('musette', 'migrations'), ('musette', 'migrations_id_seq'))
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  ORDER BY in_our_place DESC, name LIMIT 1`

/**
 * Throws ConfigError `database_unknown` if a database without migrations has tables of other programs in our schemas, or `anywhere`,
 * because the address may be of another program's database by mistake.
 */
export async function assertNoForeignTables(client: pg.ClientBase, { anywhere }: { anywhere: boolean }) {
  const { rows } = await client.query<{ name: string; in_our_place: boolean }>(FOREIGN_TABLES)
  const [found] = rows
  if (!found || !(found.in_our_place || anywhere)) return
  const repair = found.in_our_place
    ? 'use another database in DATABASE_URL'
    : 'if it is the right database, run: musette migrate'
  throw new ConfigError(
    'database_unknown',
    `this database has tables that musette did not make, such as ${found.name}; ${repair}`,
  )
}

/** Reads when each migration of this program was generated, ms since 1970. */
export async function readMigrations(folder?: string): Promise<number[]> {
  return (await readJournal(folder)).map(({ when }) => when)
}

type JournalEntry = Readonly<{ when: number; tag: string }>

/** Reads the migrations of this program with their names, oldest first. */
export async function readJournal(folder: string = migrationsFolder()): Promise<readonly JournalEntry[]> {
  const text = await readFile(`${folder}/meta/_journal.json`, 'utf8')
  const journal: { entries?: JournalEntry[] } = JSON.parse(text)
  if (journal.entries && journal.entries.length > 0) return journal.entries
  throw new UnexpectedResponseError(
    'migrations_missing',
    'drizzle/meta/_journal.json has no entries; install musette again',
  )
}

export function migrationsFolder(): string {
  return join(PROGRAM_FOLDER, 'drizzle')
}

/** Returns the version of musette that made a database; undefined if it has this version's number, as two checkouts between releases do. */
export function otherVersion(madeBy: string | undefined): string | undefined {
  return madeBy === VERSION ? undefined : madeBy
}
