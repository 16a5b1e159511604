import { stat } from 'node:fs/promises'
import { type Finding, ok, problem, warning } from '../app/findings/finding.ts'
import { readBackupFault } from '../features/backup/scheduled-backup.ts'
import { backupSettings } from '../features/backup/settings.ts'
import { quoteShell } from '../kit/text.ts'
import { findIdentity } from '../store/database-facts.ts'
import { findListed } from './check-listed.ts'
import { readWritableFolder } from './check-machine.ts'
import type { MirrorContext } from './doctor-context.ts'

/** Checks that scheduled backups can be written, that the last one was made lately and did not fail, and that its file can be read. */
export async function checkBackups(context: MirrorContext): Promise<Finding[]> {
  const { dataDir, databaseUrl } = context.config
  const { dir } = backupSettings.of(context.config)
  if (dir === undefined) return [ok('MUSETTE_BACKUP_DIR is not set: backups are made by musette backup only')]
  const folder = await readWritableFolder(dir, 'MUSETTE_BACKUP_DIR', 'no backup is made')
  if ('wrong' in folder) return [folder.wrong]
  const listed = await findListed(context, 'backups')
  const database = await context.mirror()
  if (listed.some(({ state }) => state !== 'ok') || 'reason' in database) return listed
  const { line } = await database.store.read(findIdentity)
  const fault = await readBackupFault({ dir, line })
  if (fault !== undefined)
    return [problem('unexpected', fault, `musette backup ${quoteShell(`${dir}/by-hand.tar`)}`)]
  // A backup on the disk of the embedded database is lost together with it.
  const isBeside = databaseUrl === undefined && (await stat(dir)).dev === (await stat(dataDir)).dev
  const found = `${dir} is on the same disk as the database, and is lost with it; copy the backups elsewhere, or set MUSETTE_BACKUP_DIR to another disk`
  return isBeside ? [...listed, warning(found, `df ${quoteShell(dir)}`)] : listed
}
