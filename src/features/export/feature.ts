import { defineFeature } from '../../program/frame/define-feature.ts'
import { EXPORT_FORMATS } from './export-formats.ts'
import { exportVerb } from './verbs.ts'

const settings = async () => (await import('./settings.ts')).exportSettings

export const exporting = defineFeature({
  name: 'export',
  verbs: { after: 'rebuild', all: [exportVerb] },
  settingsOf: { start: ['MUSETTE_EXPORT_DIR', 'MUSETTE_EXPORT_EVERY'] },
  settings,
  jobs: {
    'export-history': {
      atStart: true,
      every: async (config) => {
        const { dir, everyMs } = (await settings()).of(config)
        return dir === undefined ? undefined : everyMs
      },
      run: async (app, context) => (await import('./export-all.ts')).exportHistory(app, context),
    },
  },
  downloads: { activity: EXPORT_FORMATS },
  routes: async (server, { app }) => (await import('./routes.ts')).registerDownloads(server, app),
  state: async () => (await import('./state.ts')).exportState,
  gauges: async () => (await import('./state.ts')).exportGauges,
})
