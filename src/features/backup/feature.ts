import { DAY } from '../../kit/time.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { backupVerb, restoreVerb } from './verbs.ts'

const settings = async () => (await import('./settings.ts')).backupSettings

export const backup = defineFeature({
  name: 'backup',
  verbs: { after: 'migrate', all: [backupVerb, restoreVerb] },
  settingsOf: { start: ['MUSETTE_BACKUP_DIR', 'MUSETTE_BACKUP_EVERY', 'MUSETTE_BACKUP_KEEP'] },
  settings,
  jobs: {
    'back-up': {
      attempts: 10, // about an hour and a half: the next scheduled one may be a day away
      atStart: true, // it reads when the newest one was made
      every: async (config) => {
        const { dir, everyMs } = (await settings()).of(config)
        return dir === undefined ? undefined : everyMs
      },
      run: async (app, { signal }) => {
        const { writeScheduledBackup } = await import('./scheduled-backup.ts')
        return writeScheduledBackup(app, { now: app.mirror.now, signal })
      },
    },
    'verify-backup': {
      attempts: 2, // the next scheduled one comes a day later
      atStart: true, // it reads when one was last compared
      // A week goes by between two that succeed.
      every: async (config) => ((await settings()).of(config).dir === undefined ? undefined : DAY),
      run: async (app, { signal }) => {
        const { verifyScheduledBackup } = await import('./scheduled-backup.ts')
        return verifyScheduledBackup(app, { now: app.mirror.now, signal })
      },
    },
  },
  state: async () => (await import('./state.ts')).backupState,
  gauges: async () => (await import('./state.ts')).backupGauges,
})
