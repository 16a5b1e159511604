import { findHeartbeatStatus } from '../app/status-report.ts'
import { formatDuration } from '../kit/time.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, warning } from './finding.ts'

/** Checks that the monitor of the heartbeat takes it. Nothing is sent: that would tell the monitor what nobody has looked at. */
export async function checkHeartbeat({
  config,
  mirror,
}: Pick<DoctorContext, 'config' | 'mirror'>): Promise<Finding[]> {
  if (config.heartbeatUrl === undefined)
    return [ok('MUSETTE_HEARTBEAT_URL is not set: nobody notices when this machine is dead')]
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  const now = new Date()
  const status = await database.store.read((tx) => findHeartbeatStatus(tx, config, now))
  if (status?.problem) return [problem('unexpected', status.problem, 'musette status')]
  if (!status?.done_at) return [warning('a daemon that runs begins to send them', 'musette start')]
  const ageMs = Math.max(0, now.getTime() - status.done_at.getTime())
  return [ok(`the monitor heard ${formatDuration(ageMs)} ago that all is in order`)]
}
