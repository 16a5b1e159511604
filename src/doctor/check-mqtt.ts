import { errorLine } from '../kit/errors.ts'
import { formatAge } from '../kit/time.ts'
import { findPublisherState } from '../store/feed/mqtt-publisher.ts'
import type { MirrorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, warning } from './finding.ts'

/** Checks the login at the broker with a second connection that publishes nothing, and that the daemon is connected. */
export async function checkMqtt({ config, mirror }: MirrorContext): Promise<Finding[]> {
  if (!config.mqtt) return [ok('MUSETTE_MQTT_URL is not set: nothing is published')]
  const { openBroker } = await import('../mqtt/broker.ts')
  try {
    const broker = await openBroker(config.mqtt)
    await broker.close()
  } catch (error) {
    return [problem('unreachable', errorLine(error), 'musette config')]
  }
  const reached = ok(`the broker at ${new URL(config.mqtt.url).host} lets musette in`)
  const database = await mirror()
  if ('reason' in database) return [reached, leftOut(database.reason)]
  const state = await database.store.read(findPublisherState)
  if (!state?.connected) {
    const why = state?.problem ? ` (${state.problem})` : ''
    return [reached, warning(`no daemon is connected to it${why}`, 'musette start')]
  }
  const { published_at: at } = state
  const ago = at ? `; the last change was published ${formatAge(at)} ago` : ''
  return [reached, ok(`the daemon is connected${ago}`)]
}
