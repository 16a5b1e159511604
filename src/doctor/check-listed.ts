import { collectFindings } from '../app/findings/collect-findings.ts'
import { makeFacts } from '../app/findings/facts.ts'
import { type Finding, leftOut, ok, problem, warning } from '../app/findings/finding.ts'
import { errorLine } from '../kit/errors.ts'
import { quoteShell } from '../kit/text.ts'
import { readWritableFolder } from './check-machine.ts'
import type { MirrorContext } from './doctor-context.ts'

/** Finds what the list of findings has of a check. */
export async function findListed({ config, mirror }: MirrorContext, check: string): Promise<Finding[]> {
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  return collectFindings(makeFacts({ config, store: database.store }, new Date()), { check })
}

/** Checks that the history can be exported into its folder, and that this was done lately. */
export async function checkExport(context: MirrorContext): Promise<Finding[]> {
  const { dir } = context.config.export
  if (dir === undefined)
    return [ok('MUSETTE_EXPORT_DIR is not set: the history is exported by musette export --all only')]
  const folder = await readWritableFolder(dir, 'MUSETTE_EXPORT_DIR', 'the history is not exported')
  return 'wrong' in folder ? [folder.wrong] : findListed(context, 'export')
}

/** Checks that others cannot read the file of the webhooks, and that their messages are delivered. */
export async function checkWebhooks(context: MirrorContext): Promise<Finding[]> {
  const { webhooks: file } = context.config
  if (!file) return [ok('MUSETTE_WEBHOOKS is not set: no messages are sent')]
  const { path } = file
  const readable = warning(`others may read ${path}, which holds secrets`, `chmod 600 ${quoteShell(path)}`)
  const found = await findListed(context, 'webhooks')
  return [
    ...(file.isReadableByOthers ? [readable] : []),
    ...(found.length > 0 ? found : [ok(`${path} names no webhook`)]),
  ]
}

/** Checks that the monitor of the heartbeat answers. Sends no heartbeat: it would claim a state that was not checked. */
export async function checkHeartbeat(context: MirrorContext): Promise<Finding[]> {
  if (context.config.heartbeatUrl !== undefined) return findListed(context, 'heartbeat')
  return [ok('MUSETTE_HEARTBEAT_URL is not set: no monitor is configured')]
}

/** Checks that the broker lets musette in, by a connection beside the daemon's that publishes nothing, and that the daemon is there. */
export async function checkMqtt(context: MirrorContext): Promise<Finding[]> {
  const { mqtt } = context.config
  if (!mqtt) return [ok('MUSETTE_MQTT_URL is not set: nothing is published')]
  const { openBroker } = await import('../mqtt/broker.ts')
  try {
    await (await openBroker(mqtt)).close()
  } catch (error) {
    return [problem('unreachable', errorLine(error), 'musette config')]
  }
  return [
    ok(`the broker at ${new URL(mqtt.url).host} lets musette in`),
    ...(await findListed(context, 'mqtt')),
  ]
}
