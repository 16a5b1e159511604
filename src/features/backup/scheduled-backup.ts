import { join } from 'node:path'
import { findAccounts } from '../../core/store/account-rows.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { findWholeWorkState, withRun } from '../../core/store/runs.ts'
import { withExclusiveWork } from '../../core/store/store.ts'
import { TransientError } from '../../kit/errors.ts'
import { formatBytes } from '../../kit/text.ts'
import { type Clock, DAY } from '../../kit/time.ts'
import type { App } from '../../program/app/app.ts'
import { countManifestRows } from './archive/manifest.ts'
import { writeBackupFile } from './archive/write-backup.ts'
import {
  readBackupsOfOthers,
  readNewestBackup,
  readScheduled,
  removeOldBackups,
  removeUnfinished,
  scheduledName,
} from './backup-folder.ts'
import { verifyBackup } from './backups.ts'
import { assertRoom, findNeededBytes } from './before-change.ts'
import { scheduleOf, VERIFY_EVERY_MS } from './settings.ts'

const RUN = { accountId: null, resource: 'backup', kind: 'schedule' }

/** Delay of the first default backup after the first sync of a new database, ms, so that a short trial makes no backup. */
const FIRST_AFTER_MS = DAY / 2

/**
 * Writes a scheduled backup into the configured folder, then removes the oldest backups of this database and line beyond the number to
 * keep. Removes none if the backup fails, or, by default, if a backup could not be restored. Returns undefined if the next backup is not
 * due (as after each restart of the daemon), if there is no account, by default if the account is new, or if another process is making the
 * backup. Throws as writeBackupFile does, and TransientError `backup_no_folder`, by default also `backup_no_room`.
 */
export async function writeScheduledBackup(
  app: Pick<App, 'store' | 'config' | 'log'>,
  input: { now: Clock; signal: AbortSignal },
): Promise<{ counts: { rows: number; bytes: number } } | undefined> {
  const { store, config, log } = app
  const { dir, everyMs, lookEveryMs, keep, isDefault } = scheduleOf(config)
  if (dir === undefined) throw noBackupFolder()
  return withExclusiveWork(store, 'backup', async () => {
    if ((await store.read(findAccounts)).length === 0) return undefined
    const now = input.now()
    const { line, lineBeganAt } = await store.read(findIdentity)
    if (isDefault && now.getTime() - lineBeganAt.getTime() < FIRST_AFTER_MS) return undefined
    const isRecent = (madeAt: Date) => {
      const ageMs = now.getTime() - madeAt.getTime()
      // A wrong clock wrote a time in the future.
      return ageMs >= 0 && ageMs < everyMs - lookEveryMs / 2
    }
    // If the folder cannot be read, the run fails.
    const schedule = { dir, line }
    const isFirst = (await store.read((tx) => findWholeWorkState(tx, 'backup'))).doneAt === null
    const verified = await store.read((tx) => findWholeWorkState(tx, 'backup-verify'))
    const isProved = !isDefault || verified.outcome !== 'failed'
    const isDue = await readScheduled(schedule).then(
      (files) => !files.some(({ madeAt }) => isRecent(madeAt)),
      () => true,
    )
    if (!isDue) return undefined
    return withRun(store, RUN, async (tally) => {
      const unfinished = await removeUnfinished(schedule)
      if (unfinished.length > 0)
        log.info({ dir, files: unfinished }, 'removed the unfinished files of killed backups')
      if (isDefault) await assertRoom(dir, await findNeededBytes(store, config.databaseUrl))
      const path = join(dir, scheduledName(now, schedule.line))
      const { manifest, bytes, leftOut } = await writeBackupFile(
        { store, now: input.now },
        { path, signal: input.signal },
      )
      tally.bytes = bytes
      if (leftOut.length > 0) log.warn({ leftOut }, 'the backup leaves out what musette did not make')
      if (isDefault && isFirst)
        log.info(
          { path, size: formatBytes(bytes) },
          `made the first backup beside the database; musette makes and compares a backup every week and keeps the newest ${keep}; MUSETTE_BACKUP_DIR=off ends this`,
        )
      const { removed, ahead } = await removeOldBackups(schedule, {
        keep: isProved ? keep : Infinity,
        madeAt: now,
      })
      if (removed.length > 0) log.info({ dir, files: removed }, 'removed the oldest backups')
      if (ahead.length > 0)
        log.warn(
          { dir, files: ahead },
          'musette does not touch backups with a future time in their names, made while a clock was fast; remove or rename them',
        )
      const others = await readBackupsOfOthers(schedule)
      if (others.length > 0)
        log.warn(
          { dir, files: others.length, first: others[0] },
          'musette neither counts nor removes backups of other databases, or of this one before a restore; run: musette doctor',
        )
      return { counts: { rows: countManifestRows(manifest), bytes } }
    })
  })
}

/**
 * Restores the newest scheduled backup into a temporary database and compares all rows, as verifyBackup does. Returns undefined if there is
 * no backup, or if a backup (by default the newest one) was compared within the last week. Throws as verifyBackup does.
 */
export async function verifyScheduledBackup(
  app: Pick<App, 'store' | 'config' | 'log'>,
  input: { now: Clock; signal: AbortSignal },
): Promise<{ counts: { rows: number; bytes: number } } | undefined> {
  const { store, config } = app
  const { dir, isDefault } = scheduleOf(config)
  if (dir === undefined) throw noBackupFolder()
  const { line } = await store.read(findIdentity)
  const newest = await readNewestBackup({ dir, line })
  if (!newest) return undefined
  const { doneAt, outcome } = await store.read((tx) => findWholeWorkState(tx, 'backup-verify'))
  const ageMs = doneAt ? input.now().getTime() - doneAt.getTime() : Number.POSITIVE_INFINITY
  // Next week's job may come some hours early.
  const isOfNewest = !isDefault || (doneAt !== null && doneAt >= newest.doneAt)
  if (outcome === 'done' && ageMs >= 0 && ageMs < VERIFY_EVERY_MS - DAY / 2 && isOfNewest) return undefined
  return withRun(store, { ...RUN, resource: 'backup-verify' }, async (tally) => {
    const manifest = await verifyBackup(app, { from: newest, signal: input.signal })
    tally.bytes = newest.bytes
    return { counts: { rows: countManifestRows(manifest), bytes: newest.bytes } }
  })
}

/** Makes the error if this worker has no folder. Another worker may have the folder, and the retry of the job may reach that worker. */
function noBackupFolder(): TransientError {
  const message =
    'this worker has no folder for backups; set MUSETTE_BACKUP_DIR to the same folder for each process with the role worker'
  return new TransientError('backup_no_folder', message)
}
