import { defineGauges } from '../../program/frame/gauges.ts'
import { findPublisherState } from './mqtt-publisher.ts'
import { mqttSettings } from './settings.ts'

export const mqttGauges = defineGauges({
  helps: {
    '': {
      musette_mqtt_connected:
        'Whether a process is connected to the MQTT broker (1) or not (0); no line without MUSETTE_MQTT_URL.',
    },
  },
  async read({ config, read }) {
    if (!mqttSettings.of(config)) return []
    const state = await read(findPublisherState)
    return [{ values: { musette_mqtt_connected: state?.connected ?? false } }]
  },
})
