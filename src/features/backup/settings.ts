import { join } from 'node:path'
import { z } from 'zod'
import { DAY } from '../../kit/time.ts'
import { anyDuration, folder, numberWithin } from '../../program/config/checks.ts'
import type { Config } from '../../program/config/config.ts'
import { type BeforeChange, defineSettings, type ReadBackups } from '../../program/config/define-settings.ts'
import { COMPLETE } from './backup-name.ts'

const WITHOUT = 'off'

/** Interval between comparisons of the newest scheduled backup, ms; after a failure, the next comparison is a day later. */
export const VERIFY_EVERY_MS = 7 * DAY

/** The settings as given; scheduleOf adds the defaults. */
export const backupSettings = defineSettings({
  variables: {
    MUSETTE_BACKUP_DIR: z
      .union([z.literal(WITHOUT), folder])
      .describe(
        'the folder for scheduled backups, or off; unset: backups in the data directory for the embedded Postgres, none for DATABASE_URL',
      ),
    MUSETTE_BACKUP_EVERY: anyDuration
      .optional()
      .describe('how often the daemon makes a backup; unset: 1d, in the data directory 7d'),
    MUSETTE_BACKUP_KEEP: numberWithin(1, 100_000)
      .optional()
      .describe('how many scheduled backups to keep; unset: 7, in the data directory 2'),
  },
  async beforeChange(deps, input): ReturnType<BeforeChange> {
    const { dir, keep } = scheduleOf(deps.config)
    if (dir === undefined) return undefined
    return (await import('./before-change.ts')).backUpBeforeChange(deps, { ...input, dir, keep })
  },
  backups: (config): ReturnType<ReadBackups> => {
    const { dir } = scheduleOf(config)
    return dir === undefined ? undefined : { dir, names: COMPLETE }
  },
  read: (value) => ({
    dir: value.MUSETTE_BACKUP_DIR,
    everyMs: value.MUSETTE_BACKUP_EVERY,
    keep: value.MUSETTE_BACKUP_KEEP,
  }),
})

/**
 * Returns the schedule of the daemon's backups. `dir` is undefined if there are no backups; `keep` is the number of files that stay. The
 * default (`isDefault`) is a weekly backup in the data directory of the embedded Postgres. Because nobody asked for this backup, nobody
 * checks it: musette compares each backup, and mirroring has priority.
 */
export function scheduleOf(config: Pick<Config, 'features' | 'dataDir' | 'databaseUrl'>) {
  const { dir, everyMs, keep } = backupSettings.of(config)
  const isDefault = dir === undefined && config.databaseUrl === undefined
  const interval = everyMs ?? (isDefault ? 7 * DAY : DAY)
  return {
    isDefault,
    dir: isDefault ? join(config.dataDir, 'backups') : dir === WITHOUT ? undefined : dir,
    everyMs: interval,
    /** how often the daemon checks whether a backup is due: if a machine is off at night, the backup is late by a day at most */
    lookEveryMs: Math.min(interval, DAY),
    keep: keep ?? (isDefault ? 2 : 7),
  }
}
