import { duration, folder, wholeNumber } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

/** `dir` undefined: backups are made by hand only; `keep` is the number of files that stay in it. */
export const backupSettings = defineSettings({
  variables: {
    MUSETTE_BACKUP_DIR: folder.describe('the folder for scheduled backups; unset: made by hand only'),
    MUSETTE_BACKUP_EVERY: duration('1d').describe('how often the daemon makes a backup'),
    MUSETTE_BACKUP_KEEP: wholeNumber(7, 1, 100_000).describe('how many scheduled backups stay'),
  },
  read: (value) => ({
    dir: value.MUSETTE_BACKUP_DIR,
    everyMs: value.MUSETTE_BACKUP_EVERY,
    keep: value.MUSETTE_BACKUP_KEEP,
  }),
})
