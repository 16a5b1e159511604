import { defineGauges } from '../../program/frame/gauges.ts'
import { heartbeatSettings } from './settings.ts'
import { findLast } from './state.ts'

export const heartbeatGauges = defineGauges({
  helps: {
    '': {
      musette_heartbeat_age_seconds:
        'Seconds since the monitor of MUSETTE_HEARTBEAT_URL was last told that all is in order; no line while it never was.',
    },
  },
  async read(facts) {
    if (heartbeatSettings.of(facts.config).url === undefined) return []
    const { doneAt } = await facts.once(findLast)
    return [{ values: { musette_heartbeat_age_seconds: doneAt } }]
  },
})
