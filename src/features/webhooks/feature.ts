import { defineFeature } from '../../program/frame/define-feature.ts'
import { webhookTestVerb } from './verbs.ts'

export const webhooks = defineFeature({
  name: 'webhooks',
  verbs: { after: 'key rotate', all: [webhookTestVerb] },
  settingsOf: { start: ['MUSETTE_WEBHOOKS'] },
  settings: async () => (await import('./settings.ts')).webhooksSettings,
  state: async () => (await import('./state.ts')).webhooksState,
  gauges: async () => (await import('./state.ts')).webhookGauges,
  async openInWorker({ app, startedAt }) {
    const { webhooksSettings } = await import('./settings.ts')
    const file = webhooksSettings.of(app.config)
    if (!file) return undefined
    const { openWebhooks } = await import('./open-webhooks.ts')
    const { findConditions } = await import('./open-webhooks.ts')
    const conditions = () => findConditions(app, { startedAt, now: new Date() })
    return openWebhooks({ ...app, conditions }, { file, proxies: app.config.proxies })
  },
})
