import { errorLine } from '../../kit/errors.ts'
import { formatAge } from '../../kit/time.ts'
import { DATABASE_VARIABLES, type Facts, type FeatureState } from '../../program/frame/findings/facts.ts'
import { type Finding, makeFinding, makeRules, ok, problem } from '../../program/frame/findings/finding.ts'
import { defineGauges } from '../../program/frame/gauges.ts'
import { findPublisherState, type PublisherState } from './mqtt-publisher.ts'
import { mqttSettings } from './settings.ts'

const RULES = makeRules({
  mqtt_away: ['warning', 'doctor status', 'musette start'],
  mqtt_failing: ['warning', 'doctor status', 'musette config'],
})
const NEVER_CONNECTED: PublisherState = { connected: false, published_at: null, problem: null }

export const mqttState: FeatureState = {
  check: 'mqtt',
  variables: [
    ...DATABASE_VARIABLES,
    ...['URL', 'PASSWORD', 'CA', 'CERT', 'KEY'].map((name) => `MUSETTE_MQTT_${name}`),
  ],
  rules: RULES,
  judge: judgeMqtt,
  /** Checks that the broker accepts musette, with a second connection that publishes nothing, and that the daemon is connected. */
  async diagnose({ config, listed }) {
    const broker = mqttSettings.of(config)
    if (!broker) return [ok('MUSETTE_MQTT_URL is not set: nothing is published')]
    const { openBroker } = await import('./broker.ts')
    try {
      await (await openBroker(broker)).close()
    } catch (error) {
      return [problem('unreachable', errorLine(error), 'musette config')]
    }
    return [ok(`the broker at ${new URL(broker.url).host} accepts musette`), ...(await listed())]
  },
  status: {
    name: 'mqtt',
    // null if MUSETTE_MQTT_URL is not set
    find: async (facts) =>
      mqttSettings.of(facts.config) ? ((await facts.once(findPublisher)) ?? NEVER_CONNECTED) : null,
  },
}

const findPublisher = ({ read }: Facts) => read(findPublisherState)

async function judgeMqtt(facts: Facts): Promise<Finding[]> {
  const { config, now } = facts
  if (!mqttSettings.of(config)) return []
  const state = await facts.once(findPublisher)
  if (state?.problem)
    return [makeFinding(RULES.mqtt_failing, `the daemon does not publish: ${state.problem}`)]
  if (!state?.connected) return [makeFinding(RULES.mqtt_away, 'no daemon is connected to the MQTT broker')]
  const { published_at: at } = state
  return [
    ok(`the daemon is connected${at ? `; the last change was published ${formatAge(at, now)} ago` : ''}`),
  ]
}

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
