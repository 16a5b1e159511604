import { duration, folder } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

/** If `dir` is undefined, the history is exported only by hand. */
export const exportSettings = defineSettings({
  variables: {
    MUSETTE_EXPORT_DIR: folder.describe(
      'the folder of Parquet files that the daemon keeps current; unset: exported only by hand',
    ),
    MUSETTE_EXPORT_EVERY: duration('1h').describe('how often the daemon brings that folder up to date'),
  },
  read: (value) => ({ dir: value.MUSETTE_EXPORT_DIR, everyMs: value.MUSETTE_EXPORT_EVERY }),
})
