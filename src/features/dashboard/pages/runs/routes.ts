import type { FastifyInstance } from 'fastify'
import { SECOND } from '../../../../kit/time.ts'
import { makeCachedProbe } from '../../../../program/frame/cached-probe.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView, KEEP_MS } from '../send-view.ts'
import { findQueues, findRuns } from './queries.ts'

/** The client of Redis waits for a server that is away. */
const QUEUES_WITHIN_MS = 3 * SECOND

/** Adds the last runs and the content of the queues, read-only: a queue that a page pauses stops for every process. */
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
