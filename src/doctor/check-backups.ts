import { findBackupStatus } from '../app/status-report.ts'
import { formatBytes } from '../kit/text.ts'
import { formatDuration } from '../kit/time.ts'
import { isAllowed, quote, readFolder, readNearestFolder } from './check-machine.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, warning } from './finding.ts'

/** Checks that scheduled backups can be written, and that the last one was made lately and did not fail. */
export async function checkBackups({
  config,
  mirror,
}: Pick<DoctorContext, 'config' | 'mirror'>): Promise<Finding[]> {
  const { dir } = config.backup
  if (dir === undefined) return [ok('MUSETTE_BACKUP_DIR is not set: backups are made by musette backup only')]
  const folder = await readFolder(dir, 'MUSETTE_BACKUP_DIR')
  if ('wrong' in folder) return [folder.wrong]
  if (!(await isAllowed(await readNearestFolder(dir), 'write'))) {
    const found = `${dir} cannot be written by this user, so no backup is made`
    return [problem('configuration', found, `mkdir -p ${quote(dir)} && chmod u+w ${quote(dir)}`)]
  }
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  const now = new Date()
  const status = await database.store.read((tx) => findBackupStatus(tx, config, now))
  const last = status?.done_at
    ? `the last one was made ${formatDuration(Math.max(0, now.getTime() - status.done_at.getTime()))} ago` +
      (status.bytes === null ? '' : `, ${formatBytes(status.bytes)}`)
    : 'there is none yet'
  if (status?.problem)
    return [
      problem(
        'unexpected',
        `${dir}: ${status.problem}; ${last}`,
        `musette backup ${quote(`${dir}/by-hand.tar`)}`,
      ),
    ]
  if (!status?.done_at) return [warning(`${dir}: ${last}; a daemon that runs makes one`, 'musette start')]
  return [ok(`${dir}: ${last}`)]
}
