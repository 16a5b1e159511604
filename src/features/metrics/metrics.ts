import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { ServiceObserver } from '../../core/service/service.ts'
import { type Clock, SECOND } from '../../kit/time.ts'
import type { Gauges } from '../../program/frame/gauges.ts'
import type { EndedRun } from './ended-runs.ts'
import { type HealthSnapshot, makeGauges } from './gauges.ts'

export type Metrics = {
  /** counts the requests of this process to the service */
  requests: ServiceObserver
  onRun(run: EndedRun): void
  /** Renders all metrics in Prometheus's text format. */
  render(snapshot: HealthSnapshot): Promise<string>
  contentType: string
}

/** The delay of the event loop is measured at each scrape only: all the time was half of an idle daemon's work. */
const NEVER_MS = 2 ** 31 - 1
const CONTINUOUS_DELAYS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (statistic) => `musette_nodejs_eventloop_lag_${statistic}_seconds`,
)
/** A summary takes 0.1 s; samples are computed on demand and may take a minute. */
const REQUEST_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
/** A quiet poll takes 0.1 s; a backfill of a whole history takes an hour. */
const RUN_BUCKETS_S = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600]

/** Makes the metrics of this process, named `musette_…`; starts to observe garbage collection. */
export function makeMetrics(
  deps: { now: Clock },
  options: { version: string; gauges: readonly Gauges[] },
): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'musette_', eventLoopMonitoringPrecision: NEVER_MS })
  for (const name of CONTINUOUS_DELAYS) registry.removeSingleMetric(name)
  const build = new Gauge({
    registers: [registry],
    name: 'musette_build_info',
    help: 'Always 1; the label tells the version.',
    labelNames: ['version'],
  })
  build.set({ version: options.version }, 1)
  const setGauges = makeGauges(registry, options.gauges)
  return {
    requests: makeRequestCounters(registry),
    onRun: makeRunCounters(registry),
    render(snapshot) {
      setGauges(snapshot, deps.now())
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

function makeRequestCounters(registry: Registry): ServiceObserver {
  const to = { registers: [registry] }
  const requests = new Counter({
    ...to,
    name: 'musette_requests_total',
    help: 'Requests of this process to the service, by endpoint and HTTP status (none: no answer, failure says why).',
    labelNames: ['endpoint', 'status', 'failure'],
  })
  const seconds = new Histogram({
    ...to,
    name: 'musette_request_seconds',
    help: 'Seconds that a request to the service took, connecting and reading included.',
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

function makeRunCounters(registry: Registry): (run: EndedRun) => void {
  const to = { registers: [registry] }
  const runs = new Counter({
    ...to,
    name: 'musette_runs_total',
    help: 'Runs begun since this process started, by any process on this database, and ended, by outcome.',
    labelNames: ['resource', 'kind', 'outcome'],
  })
  const seconds = new Histogram({
    ...to,
    name: 'musette_run_seconds',
    help: 'Seconds that the same runs took.',
    labelNames: ['resource', 'kind'],
    buckets: RUN_BUCKETS_S,
  })
  return ({ resource, kind, outcome, seconds: took }) => {
    runs.inc({ resource, kind, outcome })
    seconds.observe({ resource, kind }, took)
  }
}
