import { defineFeature } from '../../frame/define-feature.ts'

export const mqtt = defineFeature({
  name: 'mqtt',
  settingsOf: {
    start: [
      'MUSETTE_MQTT_URL',
      'MUSETTE_MQTT_PASSWORD',
      'MUSETTE_MQTT_CA',
      'MUSETTE_MQTT_CERT',
      'MUSETTE_MQTT_KEY',
      'MUSETTE_MQTT_COMMANDS',
    ],
  },
  settings: async () => (await import('./settings.ts')).mqttSettings,
  state: async () => (await import('./state.ts')).mqttState,
  gauges: async () => (await import('./gauges.ts')).mqttGauges,
})
