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
    plan: flag('--plan', 'show what migrate would do, what waits meanwhile and for how long; change nothing'),
    json: flag('--json', 'the plan as one JSON object'),
    forgetOld: flag(
      '--forget-old',
      'then remove the files of the old Postgres, which are kept after a major upgrade',
    ),
  },
  help: {
    notes: [
      'A plan names the tables whose reads or writes wait, their sizes, and the estimated duration. docs/installing.md explains how to upgrade.',
      'An embedded Postgres of an earlier major version is upgraded to the version that musette brings, and its old files are kept until --forget-old; see docs/backup.md.',
    ],
    settings: [...DATABASE, 'REDIS_URL'],
    exits: ASKS,
    examples: ['musette migrate --plan', 'musette migrate', 'musette migrate --forget-old'],
  },
  needs: 'nothing',
  async run(tools, { plan, json, forgetOld }): Promise<undefined> {
    if (json && !plan) throw new ConfigError('bad_usage', '--json needs --plan; run: musette migrate --help')
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
    print(changed ? `upgraded Postgres ${changed.change.from} to ${changed.change.to}` : sentenceOf(migrated))
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
  const has = free === null ? 'does not report its free space' : `has ${formatBytes(free)}`
  return [
    `migrate would upgrade the embedded Postgres from ${from} to ${postgres.to}: it starts Postgres ${from} on the old files, copies all rows into new files beside them, compares the two, and then swaps their names; if it is killed at any moment, either the old or the new files are complete`,
    ...(migrations.length > 0
      ? [`this also migrates the tables to ${to}: ${countMigrations(migrations.length)}`]
      : []),
    `that takes about ${formatDuration(Math.max(1, postgres.estimated_s) * SECOND)}, estimated from ${formatBytes(bytes)} as on two busy cores; meanwhile other commands exit 4`,
    `it needs ${formatBytes(needed)} more on the disk, which ${has}${room}`,
    ...(backup ? [backupLine(backup)] : []),
    'the database gets a new line, as after a restore',
    ...postgres.left_out.map((part) => `not copied, stays in the old files: ${part}`),
    `the old files stay in ${postgres.kept} until: musette migrate --forget-old`,
    programs === null
      ? `the programs of Postgres ${from} are missing, and reading the old files needs them; first run: ${postgres.command}`
      : 'nothing is changed yet; run: musette migrate',
  ]
}

function sentenceOf({ from, to, applied }: Migrated): string {
  if (applied === 0) return nothingToDo(to)
  const migrations = countMigrations(applied)
  if (from === undefined) return `created the tables in the empty database: ${migrations}, now at ${to}`
  return `migrated the database from ${from} to ${to}: ${migrations}`
}

const WAITING = {
  none: 'nothing',
  rows: 'writes to the same rows',
  writes: 'writes',
  all: 'reads and writes',
}
const WORK = { none: 'definition only', read: 'read', changed: 'rows changed', rewritten: 'written anew' }

/** Prints what `migrate` would do to a database, and the next command. */
function printMigrationPlan(context: Pick<Context, 'print'>, plan: DatabasePlan): void {
  const { from, to, migrations, tables } = plan
  if (migrations.length === 0) {
    for (const line of [nothingToDo(to), ...queueLines(plan)]) context.print(line)
    return
  }
  const what =
    from === null ? 'create the tables in the empty database' : `upgrade the database from ${from} to ${to}`
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
      'waits until the end': WAITING[waits],
      work: WORK[work],
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

/** Returns the sentence for a database that lacks no migration. */
function nothingToDo(to: string): string {
  return `nothing to do: the database is at ${to}, as this version of musette needs it`
}

/** Maximum number of views that the plan names; the JSON plan names all views. */
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
      ? [`queries on these views wait, too: ${views.slice(0, SHOWN_VIEWS).join(', ')}${more}`]
      : []),
    estimated_s === 0
      ? 'the locks are held only briefly, because no row is read or written'
      : `the locks are held for ${duration}, estimated from the sizes at ${basis}; a fast server needs less time`,
    ...(written.length > 0 ? [`until it ends, it needs up to ${room} more on the server's disk`] : []),
    'before that, it waits for running queries on these tables, and later queries wait behind it',
    'meanwhile a running daemon waits and tries again, and a sync waits for a minute and exits 4; it is better to stop both first',
    'after that, it derives values that the earlier version lacks; reads and writes go on meanwhile',
    ...(backup ? [backupLine(backup)] : []),
    `the way back is a backup made by the version of the database${made_by === null ? '' : `, ${made_by}`}: musette backup FILE`,
  ]
}

function backupLine({ dir, needed_bytes: needed }: NonNullable<DatabasePlan['backup']>): string {
  return `first it makes a verified backup in ${dir}, which needs up to ${formatBytes(needed)} there; MUSETTE_BACKUP_DIR=off skips the backup`
}

function queueLines({ queue, migrations }: DatabasePlan): string[] {
  if (queue === null) return migrations.length === 0 ? [] : ['the queue is in Redis, and is not changed']
  const { from, to } = queue
  if (from === 0) return migrations.length === 0 ? [] : ['musette start creates the tables of the queue']
  if (from >= to) return migrations.length === 0 ? [] : ['the tables of the queue are not changed']
  return [`the next musette start migrates the tables of the queue from version ${from} to ${to}`]
}
