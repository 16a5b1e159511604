import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { UnexpectedResponseError } from '../../../kit/errors.ts'
import { assertNoForeignTables, findVersion, migrationsFolder, readJournal } from './schema-version.ts'

/** Which statements of other sessions wait until the migration ends, from none to all. `rows`: writes to rows that the migration changes. */
const WAITS = ['none', 'rows', 'writes', 'all'] as const
/** What a migration does with a table's rows, from least to most work. */
const WORK = ['none', 'read', 'changed', 'rewritten'] as const

type Effect = { waits: (typeof WAITS)[number]; work: (typeof WORK)[number] }

/** What a migration does: as a phrase, and to each existing table and view. A test compares this with the migration. */
export type Effects = { does: string; tables: Readonly<Record<string, Effect>> }

/**
 * Speed of work on a table, MB of the table with its indexes per second. Measured on tables of 3 million samples and of 40,000 activities
 * in the embedded Postgres, on two busy cores of a virtual machine.
 */
const SPEEDS_MB = { read: 50, changed: 10, rewritten: 20 }

export type MigrationPlan = {
  /** name of the database's last migration; null if the database is empty */
  from: string | null
  to: string
  /** version of musette that made the database; null if it is not recorded */
  made_by: string | null
  migrations: Array<{ name: string; does: string }>
  /** tables that are locked or read; `bytes` includes indexes */
  tables: Array<Effect & { name: string; bytes: number }>
  /** views that are locked against readers */
  views: string[]
  /** estimated duration of the locks, from sizes and speeds, s; 0 if no row is read or written */
  estimated_s: number
  speeds_mb_s: typeof SPEEDS_MB
}

/**
 * Returns the changes that `migrate` would make to a database, and changes nothing. Throws ConfigError as `migrate` does, and
 * UnexpectedResponseError `migrations_missing`. `folder` is the folder of the migrations, for tests.
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
    // The triggers are disabled until the end, which takes a lock that only reads pass.
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

/** Reads the effects of each migration, by its name. */
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

/** Finds the tables and views of our schemas, and whether they have triggers that a migration disables. */
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
