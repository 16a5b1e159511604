import { findHeartbeatStatus } from '../app/status-report.ts'
import { formatAge } from '../kit/time.ts'
import type { MirrorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, warning } from './finding.ts'

/** Checks that the monitor of the heartbeat answers. Sends no heartbeat: it would claim a state that was not checked. */
export async function checkHeartbeat({ config, mirror }: MirrorContext): Promise<Finding[]> {
  if (config.heartbeatUrl === undefined)
    return [ok('MUSETTE_HEARTBEAT_URL is not set: no monitor is configured')]
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  const status = await database.store.read((tx) => findHeartbeatStatus(tx, config, new Date()))
  if (status?.problem) return [problem('unexpected', status.problem, 'musette status')]
  if (!status?.done_at) return [warning('a daemon that runs begins to send them', 'musette start')]
  return [ok(`the monitor heard ${formatAge(status.done_at)} ago that all is in order`)]
}
