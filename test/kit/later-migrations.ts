import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { applyMigrations, withMigrationLock } from '../../src/core/store/migrate.ts'
import { readJournal } from '../../src/core/store/migration/schema-version.ts'
import { makeSilentLog } from './log.ts'
import { openTestDatabase, type TestDatabase } from './postgres.ts'

/** Returns the names of the migrations of this version, in order. */
export async function readMigrations(): Promise<string[]> {
  return (await readJournal()).map(({ tag }) => tag)
}

/** Writes the migrations of this version to an empty folder, followed by later ones: statements by file name. */
export async function writeLaterMigrations(
  folder: string,
  later: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  await copyMigrations(folder, (had) => {
    const entries = [...had]
    for (const tag of Object.keys(later)) {
      const last = entries.at(-1)
      if (last) entries.push({ ...last, idx: last.idx + 1, when: last.when + 1_000, tag })
    }
    return entries
  })
  for (const [tag, statements] of Object.entries(later))
    await writeFile(join(folder, `${tag}.sql`), statements.join(';\n--> statement-breakpoint\n'))
}

/** Writes the migrations of this version that an earlier version had to an empty folder. `had`: their times, ms since 1970. */
export async function writeEarlierMigrations(folder: string, had: readonly number[]): Promise<void> {
  await copyMigrations(folder, (entries) => entries.filter(({ when }) => had.includes(when)))
}

type Entry = { idx: number; when: number; tag: string }

/** Copies the migrations of this version to an empty folder, with the journal entries that `change` returns. */
async function copyMigrations(folder: string, change: (entries: Entry[]) => Entry[]): Promise<void> {
  await cp('drizzle', folder, { recursive: true })
  const path = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify({ ...journal, entries: change(journal.entries) }))
}

/** Returns the time of a migration by name, ms since 1970. */
export async function momentOf(tag: string): Promise<number> {
  const found = (await readJournal()).find((migration) => migration.tag === tag)
  if (!found) throw new Error(`no migration is named ${tag}`)
  return found.when
}

/** Opens a separate database with the migrations up to `tag`, as an earlier version of musette made it. */
export async function openOlderDatabase(tag: string): Promise<TestDatabase> {
  const upTo = await momentOf(tag)
  const database = await openTestDatabase({ migrated: false })
  await withMigrationLock({ connectionString: database.url, log: makeSilentLog() }, (client) =>
    applyMigrations(client, { upTo }),
  )
  return database
}
