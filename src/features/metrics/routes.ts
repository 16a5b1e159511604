import type { FastifyInstance } from 'fastify'
import { VERSION } from '../../kit/program-folder.ts'
import { SECOND, systemClock } from '../../kit/time.ts'
import { makeCachedProbe } from '../../program/frame/cached-probe.ts'
import type { Feature, WebParts } from '../../program/frame/define-feature.ts'
import { makeFacts } from '../../program/frame/findings/facts.ts'
import type { Gauges, Reading } from '../../program/frame/gauges.ts'
import { coreGauges } from './core-gauges.ts'
import { findEndedRuns, findRunsMark, makeMetrics } from './metrics.ts'

/** Time after which a scrape reports that the database does not answer, ms. */
const TIMEOUT_MS = 3 * SECOND
/** Minimum interval between reads of the database, ms, because any number of programs may scrape. */
const METRICS_KEEP_MS = 5 * SECOND

/** Adds `/metrics` for this process; starts to count its requests and the runs that begin from now on. */
export async function registerMetrics(
  server: FastifyInstance,
  { app, jobs, features, observeRequests }: WebParts,
): Promise<void> {
  const gauges = await loadGauges(features)
  const metrics = makeMetrics({ now: systemClock }, { version: VERSION, gauges })
  observeRequests(metrics.requests)
  let mark = await app.store.read(findRunsMark)
  const readDatabase = async () => {
    const facts = makeFacts(app, new Date())
    const readings: Reading[] = []
    // Read the gauges one after another, so that a scrape uses only one connection.
    for (const { read } of gauges) readings.push(...(await read(facts)))
    const runs = await facts.read((tx) => findEndedRuns(tx, mark))
    mark = runs.mark
    for (const run of runs.ended) metrics.onRun(run)
    return readings
  }
  const readQueue = async () => {
    const [counts, paused] = await Promise.all([jobs.counts(), jobs.paused()])
    return { jobs: counts, paused }
  }
  const options = { keepMs: METRICS_KEEP_MS, timeoutMs: TIMEOUT_MS }
  const [databaseProbe, queueProbe] = [
    makeCachedProbe(readDatabase, options),
    makeCachedProbe(readQueue, options),
  ]
  const orNothing = (part: string) => (error: unknown) => {
    app.log.debug({ error, part }, 'metrics: a part does not answer')
    return undefined
  }
  server.get('/metrics', async (_request, reply) => {
    const [database, queue] = await Promise.all([
      databaseProbe().catch(orNothing('database')),
      queueProbe().catch(orNothing('queue')),
    ])
    return reply.type(metrics.contentType).send(await metrics.render({ database, queue }))
  })
}

export async function loadGauges(features: readonly Feature[]): Promise<Gauges[]> {
  return [coreGauges, ...(await Promise.all(features.flatMap(({ gauges }) => gauges?.() ?? [])))]
}
