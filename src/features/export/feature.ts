import { defineFeature } from '../../frame/define-feature.ts'

export const exporting = defineFeature({
  name: 'export',
  jobs: {
    'export-history': {
      atStart: true,
      every: ({ export: { dir, everyMs } }) => (dir === undefined ? undefined : everyMs),
      run: async (app, context) => (await import('./export-history.ts')).exportHistory(app, context),
    },
  },
})
