import type { FastifyInstance } from 'fastify'
import { makeCachedProbe } from '../../cached-probe.ts'
import type { PagesApp } from '../page-frame.ts'
import { KEEP_MS, sendView } from '../send-view.ts'
import { findQueues } from './queries.ts'

/** Adds what the queues hold. It only reads: a queue that a page changes stops for every process. */
export function registerQueues(scope: FastifyInstance, app: PagesApp): void {
  const find = makeCachedProbe(() => findQueues(app, app.queues), { keepMs: KEEP_MS })
  scope.get('/queues', async (request, reply) => sendView(request, reply, await find()))
}
