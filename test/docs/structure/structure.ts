import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type pg from 'pg'
import { applyMigrations, withMigrationLock } from '../../../src/core/store/migrate.ts'
import { migrationsFolder, readJournal } from '../../../src/core/store/migration/schema-version.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { findParts, type Part } from './catalog.ts'
import { listWritten, type Written } from './written.ts'

const ORIGIN =
  '-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.'
const HEADING = /^-- (\w+), last changed by (\w+)$/gm

/** The files that describe the database, by their paths below drizzle/structure. */
export type Structure = ReadonlyMap<string, string>

/** A part, and the migration that last changed it. */
type Dated = Part & { migration: string }

/**
 * Migrates the empty database at `url`, one migration after the other, and describes its tables, views and functions. A view or
 * function is described in the words of its migration if Postgres makes the same of them, else as Postgres prints it.
 */
export async function makeStructure(url: string, folder = migrationsFolder()): Promise<Structure> {
  const journal = await readJournal(folder)
  return withMigrationLock({ connectionString: url, log: makeSilentLog(), folder }, async (client) => {
    let parts: Dated[] = []
    for (const { when, tag } of journal) {
      await applyMigrations(client, { folder, upTo: when })
      parts = dateParts(parts, await findParts(client), tag)
    }
    return describe(client, parts, folder)
  })
}

/**
 * Describes the migrated database that `client` is connected to, in a transaction. Which migration changed what Postgres prints is
 * taken from `files`, as long as there is such a migration.
 */
export async function describeStructure(client: pg.ClientBase, files: Structure): Promise<Structure> {
  const tags = new Set((await readJournal()).map(({ tag }) => tag))
  const headings = new Map(
    [...files].map(([file, text]) => [file, [...text.matchAll(HEADING)].map(([, , tag = '']) => tag)]),
  )
  const parts = (await findParts(client)).map((part) => {
    const tag = headings.get(part.file)?.shift() ?? ''
    return { ...part, migration: tags.has(tag) ? tag : 'an unknown migration' }
  })
  return describe(client, parts, migrationsFolder())
}

/** Returns the parts that are there after a migration, each with the migration that last changed it. Pure. */
function dateParts(before: readonly Dated[], now: readonly Part[], tag: string): Dated[] {
  const keyOf = ({ file, object, part }: Part) => [file, object, part].join()
  const known = new Map(before.map((part) => [keyOf(part), part]))
  return now.map((part) => {
    const same = known.get(keyOf(part))
    return same?.text === part.text ? same : { ...part, migration: tag }
  })
}

async function describe(client: pg.ClientBase, parts: readonly Dated[], folder: string): Promise<Structure> {
  const newestFirst = (await readJournal(folder))
    .flatMap(({ tag }) => listWritten(tag, readFileSync(join(folder, `${tag}.sql`), 'utf8')))
    .reverse()
  const files = new Map<string, string>()
  for (const each of parts) {
    const { file, part, migration, text } = await asWritten(client, each, newestFirst)
    const before = files.get(file) ?? `${ORIGIN}\n`
    files.set(file, `${before}\n-- ${part}, last changed by ${migration}\n${text}\n`)
  }
  return files
}

/** Takes the definition of a view or function from the newest migration that defines the same. */
async function asWritten(
  client: pg.ClientBase,
  part: Dated,
  newestFirst: readonly Written[],
): Promise<Dated> {
  if (part.part !== 'Definition') return part
  for (const { name, text, migration } of newestFirst)
    if (name === part.object.replace(/\(.*/, '') && (await definesSame(client, part, text)))
      return { ...part, text, migration }
  return part
}

/** A function with other arguments is another one, which a statement leaves in its place. */
const DEFINITIONS = {
  views: "SELECT pg_get_viewdef($1::regclass) AS text, '' AS place",
  functions:
    'SELECT pg_get_functiondef(oid) AS text, ctid::text AS place FROM pg_proc WHERE oid = $1::regprocedure',
}

/** Reports whether a statement replaces an object by one of the same definition. The statement is rolled back. */
async function definesSame(
  client: pg.ClientBase,
  { file, object }: Part,
  statement: string,
): Promise<boolean> {
  const isView = file.startsWith('views/')
  const find = async () => {
    const query = isView ? DEFINITIONS.views : DEFINITIONS.functions
    return (await client.query<{ text: string; place: string }>(query, [object])).rows[0]
  }
  await client.query('SAVEPOINT written')
  try {
    const before = await find()
    await client.query(statement)
    const after = await find()
    return after?.text === before?.text && (isView || after?.place !== before?.place)
  } catch {
    return false
  } finally {
    await client.query('ROLLBACK TO written')
  }
}

/** Reads the files of a folder; of one that does not exist, none. */
export function readStructure(folder: string): Structure {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sql'),
  )
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

/** Writes the files into a folder, and removes all others. */
export function writeStructure(folder: string, files: Structure): void {
  rmSync(folder, { recursive: true, force: true })
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
