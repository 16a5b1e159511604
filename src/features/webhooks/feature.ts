import { defineFeature } from '../../frame/define-feature.ts'
import { webhookTestVerb } from './verbs.ts'

export const webhooks = defineFeature({
  name: 'webhooks',
  verbs: { after: 'key rotate', all: [webhookTestVerb] },
  settingsOf: { start: ['MUSETTE_WEBHOOKS'] },
  settings: async () => (await import('./settings.ts')).webhooksSettings,
  state: async () => (await import('./state.ts')).webhooksState,
  gauges: async () => (await import('./gauges.ts')).webhookGauges,
})
