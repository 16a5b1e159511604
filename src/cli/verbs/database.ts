import { addAbortSignal } from 'node:stream'
import type { Manifest } from '../../backup/manifest.ts'
import { writeTo } from '../../frame/standard-streams.ts'
import { defineVerb, flag, type Tools } from '../../frame/verb.ts'
import { ConfigError } from '../../kit/errors.ts'
import { formatBytes, formatCount } from '../../kit/text.ts'
import { formatDuration } from '../../kit/time.ts'
import type { Migrated } from '../../store/migrate.ts'
import { countMigrations, nothingToDo, printMigrationPlan } from '../print-plan.ts'

export const addMigrateVerb = defineVerb({
  name: 'migrate',
  description: 'bring the database to this version',
  options: {
    plan: flag('--plan', 'say what that would do, what waits meanwhile and for how long, and change nothing'),
    json: flag('--json', 'the plan as one JSON object'),
  },
  needs: 'nothing',
  async run(tools, { plan, json }): Promise<undefined> {
    if (json && !plan)
      throw new ConfigError('bad_usage', '--json goes with --plan; run: musette migrate --help')
    const { findDatabasePlan, migrateDatabase } = await import('../../app/open-database.ts')
    const { config, log, signal, print } = tools
    if (plan) {
      const found = await findDatabasePlan(config, log, signal)
      if (json) tools.printJson(found)
      else printMigrationPlan(tools, found)
      return
    }
    const migrated = await migrateDatabase(config, log, signal)
    if (migrated.applied > 0 && migrated.from !== undefined) {
      const { completeMigrated } = await import('../../app/rebuild-account.ts')
      await completeMigrated(config, log, signal)
    }
    print(sentenceOf(migrated))
  },
})

export const addBackupVerb = defineVerb({
  name: 'backup <file>',
  description: 'write the whole database to one file, also while the daemon runs; - is standard output',
  options: {
    verify: flag(
      '--verify',
      'read this backup instead: restore it into a temporary database and compare all rows',
    ),
  },
  needs: 'nothing',
  run: (tools, { file, verify }) => (verify ? verifyFile(tools, file) : backUpTo(tools, file)),
})

export const addRestoreVerb = defineVerb({
  name: 'restore <file>',
  description: 'load a backup into an empty database, all of it or nothing; - is standard input',
  needs: 'nothing',
  run: (tools, { file }) => restoreInto(tools, file),
})

function sentenceOf({ from, to, applied }: Migrated): string {
  if (applied === 0) return nothingToDo(to)
  const migrations = countMigrations(applied)
  if (from === undefined) return `made the tables in the empty database: ${migrations}, now at ${to}`
  return `migrated the database from ${from} to ${to}: ${migrations}`
}

async function backUpTo(tools: Tools<'nothing'>, file: string): Promise<undefined> {
  const { signal, note, took } = tools
  if (file === '-' && process.stdout.isTTY)
    throw new ConfigError('bad_usage', 'a backup is not for a terminal; run: musette backup FILE')
  const write = (bytes: Buffer) => writeTo(process.stdout, bytes)
  const to = file === '-' ? { write } : { path: file }
  const { backUp, countManifestRows } = await import('../../features/backup/backups.ts')
  const line = tools.beginProgress('backing up rows')
  const { manifest, bytes, leftOut, key } = await backUp(tools, { to, signal, onProgress: line.show })
  line.close()
  const where = file === '-' ? 'the backup' : file
  note(
    `musette: ${contentOf(manifest, countManifestRows(manifest))} are in ${where}, ${formatBytes(bytes)}, after ${formatDuration(took())}`,
  )
  for (const part of leftOut) {
    note(`musette: ${part} is not of musette and is not in the backup; copy it with pg_dump`)
  }
  if (key.needed.length === 0) return
  const place = key.path === undefined ? 'MUSETTE_SECRET_KEY' : `the key file ${key.path}`
  note(
    key.missing.length > 0
      ? 'musette: the key that opens the logins is not here, nor in the backup; run: musette doctor'
      : `musette: the key that opens the logins is not in the backup; keep a copy of ${place} elsewhere; without it each account needs: musette login`,
  )
}

async function verifyFile(tools: Tools<'nothing'>, file: string): Promise<undefined> {
  const { signal, print, took } = tools
  const from = file === '-' ? { source: addAbortSignal(signal, process.stdin) } : { path: file }
  const { countManifestRows, verifyBackup } = await import('../../features/backup/backups.ts')
  const line = tools.beginProgress('restoring rows')
  const manifest = await verifyBackup(tools, { from, signal, onProgress: line.show })
  line.close()
  const which = file === '-' ? 'the backup' : file
  print(
    `${which}: ${contentOf(manifest, countManifestRows(manifest))} of ${manifest.made_at}, each as it was written, also when it is restored; after ${formatDuration(took())}`,
  )
}

async function restoreInto(tools: Tools<'nothing'>, file: string): Promise<undefined> {
  const { signal, note, took } = tools
  const from = file === '-' ? { source: addAbortSignal(signal, process.stdin) } : { path: file }
  const { countManifestRows, restoreFrom } = await import('../../features/backup/backups.ts')
  const line = tools.beginProgress('restoring rows')
  const { manifest, key } = await restoreFrom(tools, { from, signal, onProgress: line.show })
  line.close()
  note(
    `musette: ${contentOf(manifest, countManifestRows(manifest))} of ${manifest.made_at} are restored and verified, after ${formatDuration(took())}`,
  )
  if (key.missing.length > 0) {
    const place =
      key.path === undefined
        ? 'set MUSETTE_SECRET_KEY to the key of that time'
        : `copy secret.key of the old data directory to ${key.path}`
    note(
      `musette: the key that opens the logins is not here: ${place} before anything else, or run for each account: musette login`,
    )
  }
  note('musette: the next sync or start of the daemon brings what has changed since the backup')
}

function contentOf({ tables }: Manifest, rows: number): string {
  return `${tables.length} tables with ${formatCount(rows)} rows`
}
