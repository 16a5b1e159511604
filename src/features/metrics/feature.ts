import { defineFeature } from '../../program/frame/define-feature.ts'

export const metrics = defineFeature({
  name: 'metrics',
  routes: async (server, web) => (await import('./routes.ts')).registerMetrics(server, web),
})
