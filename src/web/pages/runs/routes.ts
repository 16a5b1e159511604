import type { FastifyInstance } from 'fastify'
import type { App } from '../../../app/app.ts'
import { makeCachedProbe } from '../../cached-probe.ts'
import { KEEP_MS, sendView } from '../send-view.ts'
import { findRuns } from './queries.ts'

/** Adds the last runs. */
export function registerRuns(scope: FastifyInstance, app: Pick<App, 'store'>): void {
  const find = makeCachedProbe(() => findRuns(app), { keepMs: KEEP_MS })
  scope.get('/runs', async (request, reply) => sendView(request, reply, await find()))
}
