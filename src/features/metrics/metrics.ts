import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { ServiceObserver } from '../../core/service/service.ts'
import type { Tx } from '../../core/store/store.ts'
import { type Clock, SECOND } from '../../kit/time.ts'
import type { Gauges, GaugeValue, Reading } from '../../program/frame/gauges.ts'

/**
 * Turns off the continuous measurement of the event loop's delay, which was half of an idle daemon's work. Each scrape still measures the
 * delay.
 */
const NEVER_MS = 2 ** 31 - 1
const CONTINUOUS_DELAYS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (statistic) => `musette_nodejs_eventloop_lag_${statistic}_seconds`,
)
/** Buckets: a summary takes 0.1 s; the service computes samples on demand, which may take a minute. */
const REQUEST_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
/** Buckets: a quiet poll takes 0.1 s; a backfill of a whole history takes an hour. */
const RUN_BUCKETS_S = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600]

/** Gauges whose names end like the names of counters; each is the sum of another gauge. */
const SUMS = ['handles', 'requests', 'resources'].map((name) => `musette_nodejs_active_${name}_total`)

/** Makes the metrics of this process, named `musette_…`; starts to observe garbage collection. */
export function makeMetrics(deps: { now: Clock }, options: { version: string; gauges: readonly Gauges[] }) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'musette_', eventLoopMonitoringPrecision: NEVER_MS })
  for (const name of [...CONTINUOUS_DELAYS, ...SUMS]) registry.removeSingleMetric(name)
  const build = new Gauge({
    registers: [registry],
    name: 'musette_build_info',
    help: 'Always 1; the label has the version.',
    labelNames: ['version'],
  })
  build.set({ version: options.version }, 1)
  const gauges = new Map<string, Gauge>()
  const forgetValues: Array<() => void> = []
  const all = [{ helps: PART_HELPS }, ...options.gauges].flatMap(({ helps }) => Object.entries(helps))
  for (const [labels, helps] of all)
    for (const [name, help] of Object.entries(helps)) {
      const labelNames = labels.split(' ').filter(Boolean)
      const gauge = new Gauge({ registers: [registry], name, help, labelNames })
      gauges.set(name, gauge)
      // `reset` would set a gauge without labels to 0 instead of unknown.
      forgetValues.push(() => (labels ? gauge.reset() : gauge.remove()))
    }
  return {
    /** counts the requests of this process to the service */
    requests: requestObserver(registry),
    onRun: runObserver(registry),
    /** Renders all metrics in Prometheus's text format. */
    render(snapshot: HealthSnapshot): Promise<string> {
      const now = deps.now()
      for (const forget of forgetValues) forget()
      for (const { labels = {}, values } of [...readParts(snapshot), ...(snapshot.database ?? [])])
        for (const [name, value = null] of Object.entries(values)) {
          const number = toNumber(value, now)
          if (number !== null) gauges.get(name)?.set(labels, number)
        }
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

function requestObserver(registry: Registry): ServiceObserver {
  const to = { registers: [registry] }
  const requests = new Counter({
    ...to,
    name: 'musette_requests_total',
    help: 'Requests of this process to the service, by endpoint and HTTP status (none: no response; failure says why).',
    labelNames: ['endpoint', 'status', 'failure'],
  })
  const seconds = new Histogram({
    ...to,
    name: 'musette_request_seconds',
    help: 'Duration of a request to the service in seconds, including connecting and reading.',
    labelNames: ['endpoint'],
    buckets: REQUEST_BUCKETS_S,
  })
  const waits = new Counter({
    ...to,
    name: 'musette_rate_limit_waits_total',
    help: 'Times that the service asked this process to wait (429, or 503 with Retry-After).',
  })
  const waited = new Counter({
    ...to,
    name: 'musette_rate_limit_wait_seconds_total',
    help: 'Seconds that the service asked this process to wait; overlapping waits count once.',
  })
  return {
    onAnswer({ endpoint, status, failure, ms }) {
      requests.inc({ endpoint, status: status ?? 'none', failure: failure ?? '' })
      seconds.observe({ endpoint }, ms / SECOND)
    },
    onPause(ms) {
      waits.inc()
      waited.inc(ms / SECOND)
    },
  }
}

function runObserver(registry: Registry): (run: EndedRun) => void {
  const to = { registers: [registry] }
  const runs = new Counter({
    ...to,
    name: 'musette_runs_total',
    help: 'Finished runs by outcome, of all processes on this database, begun since this process started.',
    labelNames: ['resource', 'kind', 'outcome'],
  })
  const seconds = new Histogram({
    ...to,
    name: 'musette_run_seconds',
    help: 'Duration of these runs, seconds.',
    labelNames: ['resource', 'kind'],
    buckets: RUN_BUCKETS_S,
  })
  return ({ resource, kind, outcome, seconds: took }) => {
    runs.inc({ resource, kind, outcome })
    seconds.observe({ resource, kind }, took)
  }
}

/** Number of jobs by queue and state, and the names of paused queues. */
type QueueHealth = Readonly<{
  jobs: Readonly<Record<string, Readonly<Record<string, number>>>>
  paused: readonly string[]
}>

/** The values of one scrape; a part that did not answer is undefined. */
export type HealthSnapshot = { database: readonly Reading[] | undefined; queue: QueueHealth | undefined }

const PART_HELPS: Gauges['helps'] = {
  part: {
    musette_up: 'Whether a part answers (1) or not (0); metrics of a part that does not answer are left out.',
  },
  'queue state': {
    musette_queue_jobs: 'Jobs by queue and state; completed and failed count the jobs still kept.',
  },
  queue: {
    musette_queue_paused:
      'Whether a queue is paused (1) or not (0); a running daemon resumes it within five minutes.',
  },
}

function readParts({ database, queue }: HealthSnapshot): Reading[] {
  return [
    { labels: { part: 'database' }, values: { musette_up: database !== undefined } },
    { labels: { part: 'queue' }, values: { musette_up: queue !== undefined } },
    ...Object.entries(queue?.jobs ?? {}).flatMap(([name, states]) => [
      { labels: { queue: name }, values: { musette_queue_paused: queue?.paused.includes(name) } },
      ...Object.entries(states).map(([state, count]) => ({
        labels: { queue: name, state },
        values: { musette_queue_jobs: count },
      })),
    ]),
  ]
}

/** Returns the value for Prometheus at `now`; null for no line. */
function toNumber(value: GaugeValue, now: Date): number | null {
  if (value === null || typeof value !== 'object') return value === null ? null : Number(value)
  if (value instanceof Date) return (now.getTime() - value.getTime()) / 1000
  return value.until && (value.until.getTime() - now.getTime()) / 1000
}

/** The position in the count of runs: all runs up to `runId` are counted, except the unfinished runs in `open`. */
export type RunsMark = Readonly<{ runId: number; open: readonly number[] }>

export type EndedRun = { resource: string; kind: string; outcome: string; seconds: number }

/** Maximum number of unfinished runs in the mark. Older runs were killed or rolled back, so they never end. */
const MAX_OPEN = 500

/** Returns the mark of the last run; later runs count as new. */
export async function findRunsMark(tx: Tx): Promise<RunsMark> {
  const { rows } = await tx.client.query<{ run_id: number }>(
    'select coalesce(max(run_id), 0) as run_id from training.sync_runs',
  )
  return { runId: rows[0]?.run_id ?? 0, open: [] }
}

/** Finds the runs of all processes that ended since a mark, and returns them with the next mark. Reads only the rows of these runs. */
export async function findEndedRuns(tx: Tx, mark: RunsMark): Promise<{ ended: EndedRun[]; mark: RunsMark }> {
  const { rows } = await tx.client.query<EndedRun & { run_id: number }>(
    `select run_id, resource, kind, outcome,
            coalesce(extract(epoch from finished_at - started_at), 0)::float8 as seconds
     from training.sync_runs where run_id > $1 or run_id = any($2::int[]) order by run_id`,
    [mark.runId, mark.open],
  )
  const ended = rows.filter(({ outcome }) => outcome !== 'running')
  const endedIds = new Set(ended.map(({ run_id }) => run_id))
  const runId = Math.max(mark.runId, rows.at(-1)?.run_id ?? 0)
  // A missing number in between belongs to a transaction that has not committed yet, so it stays in `open`.
  const passed = Array.from({ length: runId - mark.runId }, (_, index) => mark.runId + 1 + index)
  const open = [...mark.open, ...passed].filter((id) => !endedIds.has(id)).slice(-MAX_OPEN)
  return { ended, mark: { runId, open } }
}
