import type { FastifyInstance } from 'fastify'
import { makeCachedProbe } from '../../cached-probe.ts'
import type { PagesApp } from '../page-frame.ts'
import { KEEP_MS, sendView } from '../send-view.ts'
import { findQueues } from './queries.ts'

/** Adds the content of the queues, read-only: a queue that a page pauses stops for every process. */
export function registerQueues(scope: FastifyInstance, app: PagesApp): void {
  const find = makeCachedProbe(() => findQueues(app, app.queues), { keepMs: KEEP_MS })
  scope.get('/queues', async (request, reply) => sendView(request, reply, await find()))
}
