import type { FastifyInstance } from 'fastify'
import { makeCachedProbe } from '../../frame/cached-probe.ts'
import type { WebParts } from '../../frame/define-feature.ts'
import { findLastCopy } from '../../frame/findings/collect-findings.ts'
import { makeFacts } from '../../frame/findings/facts.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { SECOND, systemClock } from '../../kit/time.ts'
import { findAccountHealth, findHealthCounts } from '../../store/health.ts'
import { type EndedRun, findEndedRuns, findRunsMark, type RunsMark } from '../../store/runs.ts'
import { heartbeatSettings } from '../heartbeat/settings.ts'
import type { DatabaseHealth, HealthSnapshot } from './gauges.ts'
import { makeMetrics } from './metrics.ts'

/** Adds `/metrics` of this process; starts to count its requests, and the runs that begin from now on. */
export async function registerMetrics(server: FastifyInstance, web: WebParts): Promise<void> {
  const metrics = makeMetrics({ now: systemClock }, { version: VERSION })
  web.observeRequests(metrics.requests)
  const since = await web.app.store.read(findRunsMark)
  const readHealth = makeHealthReader(web, { since, onRun: metrics.onRun })
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.render(await readHealth())),
  )
}

/** A database that does not answer is told in this time, so that a scrape does not wait for it. */
const TIMEOUT_MS = 3 * SECOND
/** Any number of programs may scrape, so the database is read at most once in this time. */
const METRICS_KEEP_MS = 5 * SECOND

/**
 * Makes the reader of database and queue for `/metrics`. It calls `onRun` once for every run that begins after the mark
 * `since` and has ended.
 */
export function makeHealthReader(
  deps: {
    app: Omit<WebParts['app'], 'databaseUrl'>
    jobs: Pick<WebParts['jobs'], 'counts' | 'paused'>
  },
  input: { since: RunsMark; onRun: (run: EndedRun) => void },
): () => Promise<HealthSnapshot> {
  const { config, store, log } = deps.app
  let mark = input.since
  const readDatabase = async (): Promise<DatabaseHealth> => {
    const read = await store.read(async (tx) => ({
      accounts: await findAccountHealth(tx),
      counts: await findHealthCounts(tx),
      runs: await findEndedRuns(tx, mark),
    }))
    mark = read.runs.mark
    for (const run of read.runs.ended) input.onRun(run)
    // Age and size are those of the actual file, not of its row.
    const file = await findLastCopy(makeFacts(deps.app, new Date()))
    const backup = { ...read.counts.backup, doneAt: file?.done_at ?? null, bytes: file?.bytes ?? null }
    const heartbeatAt = heartbeatSettings.of(config).url === undefined ? null : read.counts.heartbeatAt
    const mqttConnected = config.mqtt ? (read.counts.mqttConnected ?? false) : null
    return { accounts: read.accounts, counts: { ...read.counts, heartbeatAt, mqttConnected, backup } }
  }
  const options = { keepMs: METRICS_KEEP_MS, timeoutMs: TIMEOUT_MS }
  const database = makeCachedProbe(readDatabase, options)
  const readQueue = async () => {
    const [jobs, paused] = await Promise.all([deps.jobs.counts(), deps.jobs.paused()])
    return { jobs, paused }
  }
  const queue = makeCachedProbe(readQueue, options)
  const orNothing = (part: string) => (error: unknown) => {
    log.debug({ error, part }, 'metrics: a part does not answer')
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
