import type { FastifyInstance } from 'fastify'
import { SECOND } from '../../../../kit/time.ts'
import { makeCachedProbe } from '../../../../program/frame/cached-probe.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView, KEEP_MS } from '../send-view.ts'
import { findQueues, findRuns } from './queries.ts'

/** Timeout for reading the queues, ms, because the Redis client waits for a server that is down. */
const QUEUES_WITHIN_MS = 3 * SECOND

/** Adds the route of the last runs and the queues. The route is read-only, because a paused queue would be paused for every process. */
export function registerRuns(scope: FastifyInstance, app: PagesApp): void {
  const readQueues = makeCachedProbe(() => findQueues(app, app.queues), {
    keepMs: KEEP_MS,
    timeoutMs: QUEUES_WITHIN_MS,
  })
  addView(
    scope,
    '/runs',
    {},
    makeCachedProbe(() => findRuns(app, readQueues), { keepMs: KEEP_MS }),
  )
}
