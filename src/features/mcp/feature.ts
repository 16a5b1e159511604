import { defineFeature } from '../../program/frame/define-feature.ts'
import { mcpVerb } from './verbs.ts'

export const mcp = defineFeature({
  name: 'mcp',
  verbs: { after: 'config', all: [mcpVerb] },
  settings: async () => (await import('./settings.ts')).mcpSettings,
  routes: async (server, web) => (await import('./routes.ts')).registerAssistants(server, web),
})
