import { isLoopback } from '../../../web/access/origin.ts'
import { fetchReadiness } from '../../healthcheck.ts'
import { type Finding, ok, problem, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'

/** Looks whether the daemon may listen where it is told to, whether one runs there, and whether it is ready. */
export async function checkDaemon({ config }: Pick<Patient, 'config'>): Promise<Finding[]> {
  const { http } = config
  if (!http) return [ok('MUSETTE_HTTP is off, so it cannot be asked whether it runs')]
  if (!isLoopback(http.host) && http.token === undefined) {
    const found = `MUSETTE_HTTP listens on ${http.host} and MUSETTE_HTTP_TOKEN is not set, so it refuses to start`
    return [problem('configuration', found, 'export MUSETTE_HTTP_TOKEN="$(openssl rand -hex 24)"')]
  }
  const { ready, parts } = await fetchReadiness(config)
  if (ready) return [ok('runs and is ready')]
  if (parts.daemon !== undefined) return [ok(`no daemon: ${parts.daemon}`, 'musette start')]
  const why = Object.entries(parts).filter(([, state]) => state !== 'ok')
  return [warning(`runs and is not ready: ${why.map(([part, state]) => `${part}: ${state}`).join(', ')}`)]
}
