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

/** How long the first backup by default waits for the first sync of a new database, ms: whoever only looks around gets none. */
const FIRST_AFTER_MS = DAY / 2

/**
 * Writes a scheduled backup into the folder of the configuration and then removes the oldest ones of this database and line
 * beyond the number to keep; by default none after one that could not be restored. A failure removes none. Returns undefined when there is
 * nothing to do: the next one is not due, which is so after each restart of the daemon; there is no account, or by default only a new one; or
 * another process does it at this moment. Throws as writeBackupFile does, and TransientError `backup_no_folder`, and by default `backup_no_room`.
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
      // A time in the future was written while the clock was wrong.
      return ageMs >= 0 && ageMs < everyMs - lookEveryMs / 2
    }
    // A folder that cannot be read is the failure of a run.
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
      if (unfinished.length > 0) log.info({ dir, files: unfinished }, 'removed what killed backups left')
      if (isDefault) await assertRoom(dir, await findNeededBytes(store, config.databaseUrl))
      const path = join(dir, scheduledName(now, schedule.line))
      const { manifest, bytes, leftOut } = await writeBackupFile(
        { store, now: input.now },
        { path, signal: input.signal },
      )
      tally.bytes = bytes
      if (leftOut.length > 0) log.warn({ leftOut }, 'what musette did not make is not in the backup')
      if (isDefault && isFirst)
        log.info(
          { path, size: formatBytes(bytes) },
          `made the first backup beside the database; one is made and compared every week, and the newest ${keep} stay; MUSETTE_BACKUP_DIR=off ends it`,
        )
      const { removed, ahead } = await removeOldBackups(schedule, {
        keep: isProved ? keep : Infinity,
        madeAt: now,
      })
      if (removed.length > 0) log.info({ dir, files: removed }, 'removed the oldest backups')
      if (ahead.length > 0)
        log.warn(
          { dir, files: ahead },
          'backups whose names lie in the future are left alone: a clock was ahead; remove or rename them',
        )
      const others = await readBackupsOfOthers(schedule)
      if (others.length > 0)
        log.warn(
          { dir, files: others.length, first: others[0] },
          'backups of other databases, or of this one before a restore, are left alone and do not count; run: musette doctor',
        )
      return { counts: { rows: countManifestRows(manifest), bytes } }
    })
  })
}

/**
 * Restores the newest scheduled backup into a temporary database, and compares all rows, as verifyBackup does. Returns
 * undefined when there is nothing to do: there is no backup, or one was compared in this week, by default the newest one. Throws as
 * verifyBackup does.
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
  // The job of a week later may come some hours early.
  const isOfNewest = !isDefault || (doneAt !== null && doneAt >= newest.doneAt)
  if (outcome === 'done' && ageMs >= 0 && ageMs < VERIFY_EVERY_MS - DAY / 2 && isOfNewest) return undefined
  return withRun(store, { ...RUN, resource: 'backup-verify' }, async (tally) => {
    const manifest = await verifyBackup(app, { from: newest, signal: input.signal })
    tally.bytes = newest.bytes
    return { counts: { rows: countManifestRows(manifest), bytes: newest.bytes } }
  })
}

/** Another worker may have the folder: the job is tried again, and may then reach that one. */
function noBackupFolder(): TransientError {
  const message =
    'this worker has no folder for backups; set MUSETTE_BACKUP_DIR to the same folder for each process with the role worker'
  return new TransientError('backup_no_folder', message)
}
