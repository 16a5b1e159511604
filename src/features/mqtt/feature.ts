import { defineFeature } from '../../program/frame/define-feature.ts'

export const mqtt = defineFeature({
  name: 'mqtt',
  settingsOf: {
    start: ['URL', 'PASSWORD', 'CA', 'CERT', 'KEY', 'COMMANDS'].map((name) => `MUSETTE_MQTT_${name}`),
  },
  settings: async () => (await import('./settings.ts')).mqttSettings,
  state: async () => (await import('./state.ts')).mqttState,
  gauges: async () => (await import('./state.ts')).mqttGauges,
  async openInWorker({ app, jobs }) {
    const { mqttSettings } = await import('./settings.ts')
    const broker = mqttSettings.of(app.config)
    if (!broker) return undefined
    const { openPublisher } = await import('./publisher.ts')
    const { findLastCopy } = await import('../../program/frame/findings/collect-findings.ts')
    const { makeFacts } = await import('../../program/frame/findings/facts.ts')
    const findBackupTime = async () => (await findLastCopy(makeFacts(app, new Date())))?.done_at ?? null
    const poll = async (accountId: number) => {
      for (const name of ['poll-activities', 'poll-training-info'] as const)
        await jobs.enqueue(name, [{ accountId }])
    }
    return openPublisher({ ...app, findBackupTime, poll }, { broker })
  },
})
