import type { Migrated } from '../../../core/store/migrate.ts'
import { ConfigError } from '../../../kit/errors.ts'
import { countOf, formatBytes } from '../../../kit/text.ts'
import { formatDuration, SECOND } from '../../../kit/time.ts'
import type { DatabasePlan, MajorPlan } from '../../app/open-database.ts'
import type { Context } from '../../frame/context.ts'
import { ASKS, DATABASE } from '../../frame/help-of-verbs.ts'
import { printTable } from '../../frame/output.ts'
import { defineVerb, flag } from '../../frame/verb.ts'

export const migrateVerb = defineVerb({
  name: 'migrate',
  description: 'bring the database to this version',
  options: {
    plan: flag('--plan', 'say what that would do, what waits meanwhile and for how long, and change nothing'),
    json: flag('--json', 'the plan as one JSON object'),
    forgetOld: flag(
      '--forget-old',
      'then remove the files of an earlier Postgres, which a change of its major keeps',
    ),
  },
  help: {
    notes: [
      'Each plan names the tables of which reads or writes wait, their sizes, and about how long that takes. docs/installing.md tells how to upgrade.',
      'An embedded Postgres of an earlier major is brought to the one of this version, and its old files are kept until --forget-old; docs/backup.md tells how.',
    ],
    settings: [...DATABASE, 'REDIS_URL'],
    exits: ASKS,
    examples: ['musette migrate --plan', 'musette migrate', 'musette migrate --forget-old'],
  },
  needs: 'nothing',
  async run(tools, { plan, json, forgetOld }): Promise<undefined> {
    if (json && !plan)
      throw new ConfigError('bad_usage', '--json goes with --plan; run: musette migrate --help')
    const { bringToMajor, findDatabasePlan, migrateDatabase, readOldFiles } = await import(
      '../../app/open-database.ts'
    )
    const { config, features, log, signal, print } = tools
    if (plan) {
      const found = await findDatabasePlan(tools, features)
      if (json) tools.printJson(found)
      else if (found.postgres) for (const line of linesOfMajor(found)) print(line)
      else printMigrationPlan(tools, found)
      return
    }
    const line = tools.beginProgress('copying rows')
    const changed = await bringToMajor(tools, features, { onProgress: line.show })
    line.close()
    const migrated = await migrateDatabase(tools)
    if (changed || (migrated.applied > 0 && migrated.from !== undefined)) {
      const { completeMigrated } = await import('../../app/rebuild-account.ts')
      await completeMigrated(config, log, signal)
    }
    print(changed ? `brought Postgres ${changed.change.from} to ${changed.change.to}` : sentenceOf(migrated))
    for (const what of changed?.copied?.copied ?? []) print(`copied: ${what}`)
    for (const part of changed?.copied?.leftOut ?? []) print(`not copied, stays in the old files: ${part}`)
    for (const { path, bytes, remove } of await readOldFiles(config)) {
      if (forgetOld) await remove()
      const how = forgetOld ? 'removed' : 'kept until you run musette migrate --forget-old'
      print(`${path}, ${formatBytes(bytes)}: ${how}`)
    }
  },
})

function linesOfMajor({ postgres, migrations = [], to, backup }: MajorPlan): string[] {
  const { from, bytes, needed_bytes: needed, free_bytes: free, programs } = postgres
  const room = free !== null && free < needed ? '; make room first' : ''
  const has = free === null ? 'does not tell its size' : `has ${formatBytes(free)}`
  return [
    `migrate would bring the embedded Postgres from ${from} to ${postgres.to}: a Postgres ${from} runs on its files, all rows are copied into new ones beside them and compared, then both change names; a kill at any moment leaves the old files or the new ones, whole`,
    ...(migrations.length > 0
      ? [`on the way the tables come to ${to}: ${countMigrations(migrations.length)}`]
      : []),
    `that takes about ${formatDuration(Math.max(1, postgres.estimated_s) * SECOND)}, estimated from ${formatBytes(bytes)} as on two busy cores; other commands end with exit code 4 meanwhile`,
    `it needs ${formatBytes(needed)} more on the disk, which ${has}${room}`,
    ...(backup ? [backupLine(backup)] : []),
    'it begins a new line of the database, as a restore does',
    ...postgres.left_out.map((part) => `not copied, stays in the old files: ${part}`),
    `the old files stay in ${postgres.kept} until: musette migrate --forget-old`,
    programs === null
      ? `the programs of Postgres ${from} are not here, which it needs to read them; first run: ${postgres.command}`
      : 'nothing is changed yet; run: musette migrate',
  ]
}

function sentenceOf({ from, to, applied }: Migrated): string {
  if (applied === 0) return nothingToDo(to)
  const migrations = countMigrations(applied)
  if (from === undefined) return `made the tables in the empty database: ${migrations}, now at ${to}`
  return `migrated the database from ${from} to ${to}: ${migrations}`
}

const WAITING = {
  none: 'nothing',
  rows: 'writes of the same rows',
  writes: 'writes',
  all: 'reads and writes',
}
const WORK = { none: 'definition only', read: 'read', changed: 'rows changed', rewritten: 'written anew' }

/** Prints what `migrate` would do to a database, and what to type next. */
function printMigrationPlan(context: Pick<Context, 'print'>, plan: DatabasePlan): void {
  const { from, to, migrations, tables } = plan
  if (migrations.length === 0) {
    for (const line of [nothingToDo(to), ...queueLines(plan)]) context.print(line)
    return
  }
  const what =
    from === null ? 'make the tables in the empty database' : `bring the database from ${from} to ${to}`
  context.print(`migrate would ${what}, all of it or nothing: ${countMigrations(migrations.length)}\n`)
  printTable(
    context,
    migrations.map(({ name, does }) => ({ migration: name, 'what it does': does })),
  )
  context.print('')
  if (tables.length > 0) {
    const rows = tables.map(({ name, bytes, waits, work }) => ({
      table: name,
      size: formatBytes(bytes),
      'what waits until the end': WAITING[waits],
      'what is done': WORK[work],
    }))
    printTable(context, rows)
    context.print('')
  }
  const lines = [...(from === null ? [] : lockLines(plan)), ...queueLines(plan)]
  for (const line of [...lines, 'nothing is changed yet; run: musette migrate']) context.print(line)
}

function countMigrations(count: number): string {
  return countOf(count, 'migration', 'migrations')
}

/** Returns the sentence about a database that lacks no migration. */
function nothingToDo(to: string): string {
  return `nothing to do: the database is at ${to}, as this version of musette needs it`
}

/** More views are counted; the plan as JSON names all. */
const SHOWN_VIEWS = 5

function lockLines(plan: DatabasePlan): string[] {
  const { tables, views, estimated_s, speeds_mb_s: speeds, made_by, backup } = plan
  const written = tables.filter(({ work }) => work === 'changed' || work === 'rewritten')
  const room = formatBytes(written.reduce((sum, { bytes }) => sum + bytes, 0))
  const more = views.length > SHOWN_VIEWS ? ` and ${views.length - SHOWN_VIEWS} more` : ''
  const duration = estimated_s < 1 ? 'less than a second' : `about ${formatDuration(estimated_s * SECOND)}`
  const basis = `${speeds.read} MB/s read, ${speeds.changed} MB/s changed and ${speeds.rewritten} MB/s written anew, as on two busy cores`
  return [
    ...(views.length > 0
      ? [`queries of views wait, too: ${views.slice(0, SHOWN_VIEWS).join(', ')}${more}`]
      : []),
    estimated_s === 0
      ? 'the locks hold for a moment: no row is read or written'
      : `the locks hold for ${duration}, estimated from the sizes at ${basis}; a fast server needs less`,
    ...(written.length > 0 ? [`until the end it needs up to ${room} more on the disk of the server`] : []),
    'before that, it waits for the queries that use these tables, and later queries wait behind it',
    'a daemon that runs meanwhile waits and tries again, a sync waits for a minute and ends with exit code 4; better stop both before',
    'after that, it derives values that the earlier version did not, while others read and write',
    ...(backup ? [backupLine(backup)] : []),
    `the way back is a backup by the version that made the database${made_by === null ? '' : `, ${made_by}`}: musette backup FILE`,
  ]
}

function backupLine({ dir, needed_bytes: needed }: NonNullable<DatabasePlan['backup']>): string {
  return `first of all, it makes a verified backup in ${dir}, which needs up to ${formatBytes(needed)} there; MUSETTE_BACKUP_DIR=off leaves that out`
}

function queueLines({ queue, migrations }: DatabasePlan): string[] {
  if (queue === null) return migrations.length === 0 ? [] : ['the queue is in Redis, and stays as it is']
  const { from, to } = queue
  if (from === 0) return migrations.length === 0 ? [] : ['the tables of the queue are made by: musette start']
  if (from >= to) return migrations.length === 0 ? [] : ['the tables of the queue stay as they are']
  return [`the next musette start brings the tables of the queue from their version ${from} to ${to}`]
}
