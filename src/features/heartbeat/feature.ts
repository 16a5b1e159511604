import { defineFeature } from '../../program/frame/define-feature.ts'

const settings = async () => (await import('./settings.ts')).heartbeatSettings

export const heartbeat = defineFeature({
  name: 'heartbeat',
  settingsOf: { start: ['MUSETTE_HEARTBEAT_URL'] },
  settings,
  jobs: {
    'send-heartbeat': {
      attempts: 5, // some minutes; then the next scheduled heartbeat takes over
      every: async (config) =>
        (await settings()).of(config).url === undefined ? undefined : config.mirror.pollEveryMs,
      run: async (app, { signal, startedAt }) => {
        const { sendRoundHeartbeat } = await import('./send-round-heartbeat.ts')
        await sendRoundHeartbeat(app, { startedAt, now: app.mirror.now(), signal })
      },
    },
  },
  state: async () => (await import('./state.ts')).heartbeatState,
  gauges: async () => (await import('./state.ts')).heartbeatGauges,
})
