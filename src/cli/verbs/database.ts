import { addAbortSignal } from 'node:stream'
import type { Command } from 'commander'
import type { Manifest } from '../../backup/manifest.ts'
import { ConfigError } from '../../kit/errors.ts'
import { formatBytes, formatCount } from '../../kit/text.ts'
import { formatDuration } from '../../kit/time.ts'
import type { Migrated } from '../../store/migrate.ts'
import type { Context, Run } from '../context.ts'
import { countMigrations, nothingToDo, printMigrationPlan } from '../print-plan.ts'
import { writeTo } from '../standard-streams.ts'
import { withProgress } from '../with-app.ts'

/** Adds the verbs for the database as a whole to the program: `migrate`, `backup` and `restore`. */
export function addDatabaseVerbs(program: Command, run: Run): void {
  program
    .command('migrate')
    .description('bring the database to this version')
    .option('--plan', 'say what that would do, what waits meanwhile and for how long, and change nothing')
    .option('--json', 'the plan as one JSON object')
    .action((options: { plan?: true; json?: true }) =>
      run((context) => (options.plan ? plan(context, options) : migrate(context, options))),
    )
  program
    .command('backup <file>')
    .description('write the whole database to one file, also while the daemon runs; - is standard output')
    .option('--verify', 'read this backup instead: restore it into a temporary database and compare all rows')
    .action((file: string, { verify }: { verify?: true }) =>
      run((context) => (verify ? verifyFile(context, file) : backUpTo(context, file))),
    )
  program
    .command('restore <file>')
    .description('load a backup into an empty database, all of it or nothing; - is standard input')
    .action((file: string) => run((context) => restoreInto(context, file)))
}

async function migrate(context: Context, { json }: { json?: true }): Promise<undefined> {
  if (json) throw new ConfigError('bad_usage', '--json goes with --plan; run: musette migrate --help')
  const { migrateDatabase } = await import('../../app/open-database.ts')
  const { config, log, signal } = context
  const migrated = await migrateDatabase(config, log, signal)
  if (migrated.applied > 0 && migrated.from !== undefined) {
    const { completeMigrated } = await import('../../app/rebuild-account.ts')
    await completeMigrated(config, log, signal)
  }
  context.print(sentenceOf(migrated))
}

async function plan(context: Context, { json }: { json?: true }): Promise<undefined> {
  const { findDatabasePlan } = await import('../../app/open-database.ts')
  const { config, log, signal } = context
  const found = await findDatabasePlan(config, log, signal)
  if (json) context.printJson(found)
  else printMigrationPlan(context, found)
}

function sentenceOf({ from, to, applied }: Migrated): string {
  if (applied === 0) return nothingToDo(to)
  const migrations = countMigrations(applied)
  if (from === undefined) return `made the tables in the empty database: ${migrations}, now at ${to}`
  return `migrated the database from ${from} to ${to}: ${migrations}`
}

async function backUpTo(context: Context, file: string): Promise<undefined> {
  const startedAt = performance.now()
  const to = file === '-' ? { write: makeOutputWriter(process.stdout) } : { path: file }
  const { backUp, countManifestRows } = await import('../../app/backups.ts')
  const { manifest, bytes, leftOut, key } = await withProgress(
    context,
    'backing up rows',
    ({ show: onProgress }) => backUp(context, { to, signal: context.signal, onProgress }),
  )
  const where = file === '-' ? 'the backup' : file
  context.note(
    `musette: ${contentOf(manifest, countManifestRows(manifest))} are in ${where}, ${formatBytes(bytes)}, after ${tookSince(startedAt)}`,
  )
  for (const part of leftOut) {
    context.note(`musette: ${part} is not of musette and is not in the backup; copy it with pg_dump`)
  }
  if (key.needed.length === 0) return
  const place = key.path === undefined ? 'MUSETTE_SECRET_KEY' : `the key file ${key.path}`
  context.note(
    key.missing.length > 0
      ? 'musette: the key that opens the logins is not here, nor in the backup; run: musette doctor'
      : `musette: the key that opens the logins is not in the backup; keep a copy of ${place} elsewhere; without it each account needs: musette login`,
  )
}

async function verifyFile(context: Context, file: string): Promise<undefined> {
  const startedAt = performance.now()
  const { signal } = context
  const from = file === '-' ? { source: addAbortSignal(signal, process.stdin) } : { path: file }
  const { countManifestRows, verifyBackup } = await import('../../app/backups.ts')
  const manifest = await withProgress(context, 'restoring rows', ({ show: onProgress }) =>
    verifyBackup(context, { from, signal, onProgress }),
  )
  const which = file === '-' ? 'the backup' : file
  context.print(
    `${which}: ${contentOf(manifest, countManifestRows(manifest))} of ${manifest.made_at}, each as it was written, also when it is restored; after ${tookSince(startedAt)}`,
  )
}

async function restoreInto(context: Context, file: string): Promise<undefined> {
  const startedAt = performance.now()
  const { signal } = context
  const from = file === '-' ? { source: addAbortSignal(signal, process.stdin) } : { path: file }
  const { countManifestRows, restoreFrom } = await import('../../app/backups.ts')
  const { manifest, key } = await withProgress(context, 'restoring rows', ({ show: onProgress }) =>
    restoreFrom(context, { from, signal, onProgress }),
  )
  context.note(
    `musette: ${contentOf(manifest, countManifestRows(manifest))} of ${manifest.made_at} are restored and verified, after ${tookSince(startedAt)}`,
  )
  if (key.missing.length > 0) {
    const place =
      key.path === undefined
        ? 'set MUSETTE_SECRET_KEY to the key of that time'
        : `copy secret.key of the old data directory to ${key.path}`
    context.note(
      `musette: the key that opens the logins is not here: ${place} before anything else, or run for each account: musette login`,
    )
  }
  context.note('musette: the next sync or start of the daemon brings what has changed since the backup')
}

function contentOf({ tables }: Manifest, rows: number): string {
  return `${tables.length} tables with ${formatCount(rows)} rows`
}

function tookSince(startedAt: number): string {
  return formatDuration(performance.now() - startedAt)
}

/** Returns writeTo for an output that is no terminal. */
function makeOutputWriter(output: NodeJS.WriteStream): (bytes: Buffer) => Promise<void> {
  if (output.isTTY) {
    throw new ConfigError('bad_usage', 'a backup is not for a terminal; run: musette backup FILE')
  }
  return (bytes) => writeTo(output, bytes)
}
