import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { UnexpectedResponseError } from '../../../kit/errors.ts'
import { assertNoForeignTables, findVersion, migrationsFolder, readJournal } from './schema-version.ts'

/** Which statements of others wait until the migration ends, from the fewest on; `rows`: writes of the rows that it changes. */
const WAITS = ['none', 'rows', 'writes', 'all'] as const
/** What a migration does with the rows of a table, from the quickest on. */
const WORK = ['none', 'read', 'changed', 'rewritten'] as const

type Effect = { waits: (typeof WAITS)[number]; work: (typeof WORK)[number] }

/** What a migration does: in a phrase, and to each table and view that is there before. A test compares it. */
export type Effects = { does: string; tables: Readonly<Record<string, Effect>> }

/**
 * How fast a table is worked on, MB of its size with indexes a second: measured on tables of 3 million samples and of 40,000
 * activities in the embedded Postgres, on two busy cores of a virtual machine.
 */
const SPEEDS_MB = { read: 50, changed: 10, rewritten: 20 }

export type MigrationPlan = {
  /** the name of the last migration of the database; null when it is empty */
  from: string | null
  to: string
  /** the version of musette that made the database; null where that is not recorded */
  made_by: string | null
  migrations: Array<{ name: string; does: string }>
  /** the tables that are locked or read; bytes with indexes */
  tables: Array<Effect & { name: string; bytes: number }>
  /** the views that are locked for readers */
  views: string[]
  /** how long the locks hold, s, from the sizes and speeds; 0 when no row is read or written */
  estimated_s: number
  speeds_mb_s: typeof SPEEDS_MB
}

/**
 * Finds what `migrate` would do to a database, and changes nothing. Throws ConfigError as `migrate` does, and
 * UnexpectedResponseError `migrations_missing`. `folder` is the one of the migrations, for tests.
 */
export async function findMigrationPlan(client: pg.ClientBase, folder?: string): Promise<MigrationPlan> {
  const { version, target, madeBy } = await findVersion(client, folder)
  if (version === 0) await assertNoForeignTables(client, { anywhere: false })
  const journal = await readJournal(folder)
  const nameOf = (moment: number) => journal.find(({ when }) => when === moment)?.tag
  const effects = await readEffects(folder)
  const missing = journal
    .filter(({ when }) => when > version)
    .map(({ tag: name }) => {
      const found = effects[name]
      if (found) return { name, ...found }
      const message = `drizzle/effects.json does not say what ${name} does; install musette again`
      throw new UnexpectedResponseError('migrations_missing', message)
    })
  const relations = missing.length === 0 ? [] : await findRelations(client)
  const planned = relations.flatMap(({ name, bytes, is_view, has_trigger }) => {
    const works = missing.flatMap(({ tables }) => tables[name] ?? [])
    // Until the end the triggers are off, which takes a lock that only reads pass.
    if (has_trigger) works.push({ waits: 'writes', work: 'none' })
    const speeds = works.flatMap(({ work }) => (work === 'none' ? [] : [SPEEDS_MB[work]]))
    const seconds = speeds.reduce((sum, speed) => sum + bytes / 1e6 / speed, 0)
    return works.length === 0 ? [] : [{ name, is_view, bytes, seconds, ...heaviest(works) }]
  })
  return {
    from: nameOf(version) ?? null,
    to: nameOf(target) ?? '',
    made_by: madeBy ?? null,
    migrations: missing.map(({ name, does }) => ({ name, does })),
    tables: planned
      .filter(({ is_view }) => !is_view)
      .map(({ name, bytes, waits, work }) => ({ name, bytes, waits, work })),
    views: planned.filter(({ is_view }) => is_view).map(({ name }) => name),
    estimated_s: planned.reduce((sum, { seconds }) => sum + seconds, 0),
    speeds_mb_s: SPEEDS_MB,
  }
}

/** Reads what each migration does, by its name. */
export async function readEffects(folder = migrationsFolder()): Promise<Readonly<Record<string, Effects>>> {
  return JSON.parse(await readFile(join(folder, 'effects.json'), 'utf8'))
}

function heaviest(effects: readonly Effect[]): Effect {
  return {
    waits: WAITS[Math.max(...effects.map(({ waits }) => WAITS.indexOf(waits)))] ?? 'none',
    work: WORK[Math.max(...effects.map(({ work }) => WORK.indexOf(work)))] ?? 'none',
  }
}

type Relation = { name: string; bytes: number; is_view: boolean; has_trigger: boolean }

/** Finds the tables and views of our schemas, and which of them have triggers that a migration switches off. */
async function findRelations(client: pg.ClientBase): Promise<Relation[]> {
  const { rows } = await client.query<Relation>(
    `SELECT n.nspname || '.' || c.relname AS name, (pg_total_relation_size(c.oid) + coalesce(
         (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = c.oid), 0))::float8 AS bytes, c.relkind = 'v' AS is_view,
       EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled = 'O') AS has_trigger
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('training', 'musette') AND c.relkind IN ('r', 'p', 'v')
       AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid) ORDER BY bytes DESC, name`,
  )
  return rows
}
