import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  env: async () => ({ MUSETTE_HEARTBEAT_URL: 'http://127.0.0.1:9/ping' }),
  runs: ['heartbeat'],
  situations: ({ run, without }) => `
heartbeat_missing | ${without('heartbeat')} | no heartbeat has been sent yet | musette start
heartbeat_reported | ${run('heartbeat', '1 second', 'partial')} | the monitor was told |
heartbeat_failed | ${run('heartbeat', '1 second', 'failed')} | failed | musette config
heartbeat_late | ${without('heartbeat')}; ${run('heartbeat', '1 hour', 'done')} | the last heartbeat is 1 h old | musette start`,
}
