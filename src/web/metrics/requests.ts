import { Counter, Histogram, type Registry } from 'prom-client'
import { SECOND } from '../../kit/time.ts'

/** One request to the service: its endpoint as a pattern, and its status, or the error code in place of an answer. */
export type SeenRequest = {
  endpoint: string
  status: number | undefined
  failure: string | undefined
  ms: number
}

/** Hears what this process asks of the service. */
export type RequestObserver = { onAnswer(seen: SeenRequest): void; onPause(ms: number): void }

/** A summary takes a tenth of a second; an activity's samples are computed on demand and may take a minute or more. */
const REQUEST_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** Makes the counters of requests. */
export function makeRequestCounters(registry: Registry): RequestObserver {
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
