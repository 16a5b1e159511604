import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Clock } from '../../kit/time.ts'
import type { EndedRun, Figures } from './figures.ts'
import { makeGauges } from './gauges.ts'
import { makeRequestCounters, type RequestObserver } from './requests.ts'
import { makeRunCounters } from './runs.ts'

export type Metrics = {
  requests: RequestObserver
  onRun(run: EndedRun): void
  /** Renders everything in Prometheus's text format; `figures` are what was read for this page. */
  render(figures: Figures): Promise<string>
  contentType: string
}

/** The event loop's delay is taken when somebody asks: watching it all the time was half of what an idle daemon did. */
const NEVER_MS = 2 ** 31 - 1
const WATCHED_DELAYS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (figure) => `musette_nodejs_eventloop_lag_${figure}_seconds`,
)

/** Makes the metrics of this process, all of them named `musette_…`; it watches garbage collection from now on. */
export function makeMetrics(deps: { now: Clock }, options: { version: string }): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'musette_', eventLoopMonitoringPrecision: NEVER_MS })
  for (const name of WATCHED_DELAYS) registry.removeSingleMetric(name)
  const build = new Gauge({
    registers: [registry],
    name: 'musette_build_info',
    help: 'Always 1; the label tells the version.',
    labelNames: ['version'],
  })
  build.set({ version: options.version }, 1)
  const showFigures = makeGauges(registry)
  return {
    requests: makeRequestCounters(registry),
    onRun: makeRunCounters(registry),
    render(figures) {
      showFigures(figures, deps.now())
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

/** Adds `/metrics`. `figures` never throws and never takes long, whatever is away: the page answers in any case. */
export function registerMetrics(
  server: FastifyInstance,
  deps: { metrics: Metrics; figures: () => Promise<Figures> },
): void {
  server.get('/metrics', async (_request, reply) => {
    const page = await deps.metrics.render(await deps.figures())
    return reply.type(deps.metrics.contentType).send(page)
  })
}
