import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { applyMigrations, withMigrationLock } from '../../src/store/migrate.ts'
import { readJournal } from '../../src/store/migration/schema-version.ts'
import { makeSilentLog } from './log.ts'
import { openTestDatabase, type TestDatabase } from './postgres.ts'

/** The names of this version's migrations, in their order. */
export async function readMigrations(): Promise<string[]> {
  return (await readJournal()).map(({ tag }) => tag)
}

/**
 * Writes the migrations of this version into an empty folder, and later ones behind them: the statements of each by the name of
 * its file.
 */
export async function writeLaterMigrations(
  folder: string,
  later: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  await cp('drizzle', folder, { recursive: true })
  const path = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(await readFile(path, 'utf8'))
  for (const [tag, statements] of Object.entries(later)) {
    const last = journal.entries.at(-1)
    journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1_000, tag })
    await writeFile(join(folder, `${tag}.sql`), statements.join(';\n--> statement-breakpoint\n'))
  }
  await writeFile(path, JSON.stringify(journal))
}

/** Writes those migrations of this version into an empty folder that an earlier one had: `had` are their moments, ms since 1970. */
export async function writeEarlierMigrations(folder: string, had: readonly number[]): Promise<void> {
  await cp('drizzle', folder, { recursive: true })
  const path = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(await readFile(path, 'utf8'))
  journal.entries = journal.entries.filter(({ when }: { when: number }) => had.includes(when))
  await writeFile(path, JSON.stringify(journal))
}

/** Opens a database of its own that has the migrations up to the one of this name, as an earlier version of musette made it. */
export async function openOlderDatabase(tag: string): Promise<TestDatabase> {
  const last = (await readJournal()).find((migration) => migration.tag === tag)
  if (!last) throw new Error(`no migration is named ${tag}`)
  const database = await openTestDatabase({ migrated: false })
  await withMigrationLock({ connectionString: database.url, log: makeSilentLog() }, (client) =>
    applyMigrations(client, { upTo: last.when }),
  )
  return database
}
