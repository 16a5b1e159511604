import type { Config } from '../../config/config.ts'
import { backupSettings } from '../../features/backup/settings.ts'
import { type DatabaseIdentity, type ForeignFolder, readForeign } from '../../kit/folders/folder-owner.ts'
import { formatCount, quoteShell } from '../../kit/text.ts'
import { readForeignExport } from '../export/export-folder.ts'
import { fitCommand } from '../remedy.ts'

/** A configured folder that another database also uses: the consequence, and the command to type. */
export type SharedFolder = ForeignFolder & {
  setting: 'MUSETTE_DROP_DIR' | 'MUSETTE_WORKOUT_DIR' | 'MUSETTE_EXPORT_DIR' | 'MUSETTE_BACKUP_DIR'
  dir: string
  /** this database does not use the folder; false when only some files there belong to others */
  unused: boolean
}

type Folders = Pick<Config, 'drop' | 'workoutDir' | 'export' | 'features'> & Parameters<typeof fitCommand>[1]

/** Reads which folders of the settings other databases use, as far as this machine sees them. Changes nothing. Never throws. */
export async function readSharedFolders(
  config: Folders,
  database: DatabaseIdentity,
): Promise<SharedFolder[]> {
  const { drop, workoutDir, export: exporting } = config
  const folders = [
    { setting: 'MUSETTE_DROP_DIR', dir: drop.dir, read: readForeign, unused: true },
    { setting: 'MUSETTE_WORKOUT_DIR', dir: workoutDir, read: readForeign, unused: true },
    { setting: 'MUSETTE_EXPORT_DIR', dir: exporting.dir, read: readForeignExport, unused: true },
    {
      setting: 'MUSETTE_BACKUP_DIR',
      dir: backupSettings.of(config).dir,
      read: readForeignBackups,
      unused: false,
    },
  ] as const
  const shared: SharedFolder[] = []
  for (const { dir, read, ...rest } of folders) {
    // An unreadable folder has a separate check.
    const foreign = dir === undefined ? undefined : await read(dir, database).catch(() => undefined)
    if (dir !== undefined && foreign)
      shared.push({ ...rest, dir, ...foreign, run: fitCommand(foreign.run, config) })
  }
  return shared
}

/** Finds the other databases and lines with backups in a folder. */
async function readForeignBackups(
  dir: string,
  { identity, line }: DatabaseIdentity,
): Promise<ForeignFolder | undefined> {
  const { readBackupManifest, readBackupsOfOthers } = await import('../../backup/backup-folder.ts')
  const paths = await readBackupsOfOthers({ dir, line })
  const [first] = paths
  if (first === undefined) return undefined
  const owners = await Promise.all(paths.map((path) => readBackupManifest({ path }).catch(() => undefined)))
  const isEarlier = owners.every((manifest) => manifest?.database?.identity === identity)
  const count = formatCount(paths.length)
  const found = `${dir} also holds ${count} ${paths.length === 1 ? 'backup' : 'backups'} that this database does not count, verify or remove`
  if (isEarlier) {
    const why = 'of this database, but from before a restore or of another restore of it'
    return { found: `${found}, ${why}; remove them if not needed`, run: `ls -l ${quoteShell(dir)}` }
  }
  const other = owners.find((manifest) => manifest?.database && manifest.database.identity !== identity)
  const whose = other?.database
    ? `of another database (identity ${other.database.identity})`
    : 'of an unknown database'
  const own = quoteShell(`${dir}-${identity.slice(0, 8)}`)
  return {
    found: `${found}, ${whose}; give each database a folder of its own`,
    run: `export MUSETTE_BACKUP_DIR=${own}`,
  }
}
