import { stat } from 'node:fs/promises'
import { readBackupFault } from '../app/scheduled-backup.ts'
import { findBackupStatus, UNPROVED } from '../app/status-report.ts'
import { formatBytes, quoteShell } from '../kit/text.ts'
import { formatAge } from '../kit/time.ts'
import { findIdentity } from '../store/database-facts.ts'
import { readWritableFolder } from './check-machine.ts'
import type { MirrorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, warning } from './finding.ts'

/** Checks that scheduled backups can be written, and that the last one was made lately and did not fail. */
export async function checkBackups({ config, mirror }: MirrorContext): Promise<Finding[]> {
  const { dir } = config.backup
  if (dir === undefined) return [ok('MUSETTE_BACKUP_DIR is not set: backups are made by musette backup only')]
  const folder = await readWritableFolder(dir, 'MUSETTE_BACKUP_DIR', 'no backup is made')
  if ('wrong' in folder) return [folder.wrong]
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  const status = await database.store.read((tx) => findBackupStatus(tx, config, new Date()))
  const last = status?.done_at
    ? `the last one was made ${formatAge(status.done_at)} ago` +
      (status.bytes === null ? '' : `, ${formatBytes(status.bytes)}`)
    : 'there is none yet'
  const byHand = `musette backup ${quoteShell(`${dir}/by-hand.tar`)}`
  if (status?.code === UNPROVED) {
    const verify = `musette backup --verify ${quoteShell(status.file ?? '')}`
    return [problem('unexpected', `${dir}: ${status.problem}; ${last}`, verify)]
  }
  if (status?.problem)
    return [
      // Where a disk is full, another backup on it helps nobody.
      status.code === 'backup_disk_full'
        ? problem('unexpected', `${dir}: ${status.problem}; ${last}; make room`, `df -h ${quoteShell(dir)}`)
        : problem('unexpected', `${dir}: ${status.problem}; ${last}`, byHand),
    ]
  const { line } = await database.store.read(findIdentity)
  const fault = await readBackupFault({ dir, line })
  if (fault !== undefined) return [problem('unexpected', fault, byHand)]
  if (!status?.done_at) return [warning(`${dir}: ${last}; a daemon that runs makes one`, 'musette start')]
  const proved = status.verified_at
    ? `; one was restored and compared ${formatAge(status.verified_at)} ago`
    : '; none was restored and compared yet'
  return [
    ok(`${dir}: ${last}${proved}`),
    ...(await sameDiskFindings(dir, config.dataDir, config.databaseUrl)),
  ]
}

/** A backup on the disk of the embedded database is lost together with it. */
async function sameDiskFindings(
  dir: string,
  dataDir: string,
  databaseUrl: string | undefined,
): Promise<Finding[]> {
  if (databaseUrl !== undefined) return []
  const [backups, database] = await Promise.all([stat(dir), stat(dataDir)])
  if (backups.dev !== database.dev) return []
  const found = `${dir} is on the same disk as the database, and is lost with it; copy the backups elsewhere, or set MUSETTE_BACKUP_DIR to another disk`
  return [warning(found, `df ${quoteShell(dir)}`)]
}
