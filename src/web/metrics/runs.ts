import { Counter, Histogram, type Registry } from 'prom-client'
import type { EndedRun } from './figures.ts'

/** A quiet poll takes a tenth of a second; a backfill of a whole history takes an hour at a polite pace. */
const RUN_BUCKETS_S = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600]

/** Makes the counters of runs; the function counts one that has ended. */
export function makeRunCounters(registry: Registry): (run: EndedRun) => void {
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
