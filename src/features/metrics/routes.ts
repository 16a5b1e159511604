import type { FastifyInstance } from 'fastify'
import { VERSION } from '../../kit/program-folder.ts'
import { SECOND, systemClock } from '../../kit/time.ts'
import { makeCachedProbe } from '../../program/frame/cached-probe.ts'
import type { Feature, WebParts } from '../../program/frame/define-feature.ts'
import { makeFacts } from '../../program/frame/findings/facts.ts'
import type { Gauges, Reading } from '../../program/frame/gauges.ts'
import { coreGauges } from './core-gauges.ts'
import {
  type EndedRun,
  findEndedRuns,
  findRunsMark,
  type HealthSnapshot,
  makeMetrics,
  type RunsMark,
} from './metrics.ts'

/** Adds `/metrics` of this process; starts to count its requests, and the runs that begin from now on. */
export async function registerMetrics(server: FastifyInstance, web: WebParts): Promise<void> {
  const gauges = await loadGauges(web.features)
  const metrics = makeMetrics({ now: systemClock }, { version: VERSION, gauges })
  web.observeRequests(metrics.requests)
  const since = await web.app.store.read(findRunsMark)
  const readHealth = makeHealthReader(web, { gauges, since, onRun: metrics.onRun })
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.render(await readHealth())),
  )
}

/** Loads the gauges of the core and of the features. */
export async function loadGauges(features: readonly Feature[]): Promise<Gauges[]> {
  return [coreGauges, ...(await Promise.all(features.flatMap(({ gauges }) => gauges?.() ?? [])))]
}

/** A database that does not answer is told in this time, so that a scrape does not wait for it. */
const TIMEOUT_MS = 3 * SECOND
/** Any number of programs may scrape, so the database is read at most once in this time. */
const METRICS_KEEP_MS = 5 * SECOND

/**
 * Makes the reader of database and queue for `/metrics`. It calls `onRun` once for every run that begins after the mark
 * `since` and has ended.
 */
function makeHealthReader(
  deps: {
    app: Omit<WebParts['app'], 'databaseUrl'>
    jobs: Pick<WebParts['jobs'], 'counts' | 'paused'>
  },
  input: { gauges: readonly Gauges[]; since: RunsMark; onRun: (run: EndedRun) => void },
): () => Promise<HealthSnapshot> {
  const { app, jobs } = deps
  let mark = input.since
  const readDatabase = async () => {
    const facts = makeFacts(app, new Date())
    const readings: Reading[] = []
    // One after another, so that a scrape takes one connection.
    for (const { read } of input.gauges) readings.push(...(await read(facts)))
    const runs = await facts.read((tx) => findEndedRuns(tx, mark))
    mark = runs.mark
    for (const run of runs.ended) input.onRun(run)
    return readings
  }
  const options = { keepMs: METRICS_KEEP_MS, timeoutMs: TIMEOUT_MS }
  const database = makeCachedProbe(readDatabase, options)
  const readQueue = async () => {
    const [counts, paused] = await Promise.all([jobs.counts(), jobs.paused()])
    return { jobs: counts, paused }
  }
  const queue = makeCachedProbe(readQueue, options)
  const orNothing = (part: string) => (error: unknown) => {
    app.log.debug({ error, part }, 'metrics: a part does not answer')
    return undefined
  }
  return async () => {
    const [fromDatabase, fromQueue] = await Promise.all([
      database().catch(orNothing('database')),
      queue().catch(orNothing('queue')),
    ])
    return { database: fromDatabase, queue: fromQueue }
  }
}
