import { Gauge, type Registry } from 'prom-client'
import type { Gauges, GaugeValue, Reading } from '../../program/frame/gauges.ts'

/** Jobs by queue and state, and the names of the queues that are paused. */
export type QueueHealth = Readonly<{
  jobs: Readonly<Record<string, Readonly<Record<string, number>>>>
  paused: readonly string[]
}>

/** What one scrape found; undefined parts did not answer. */
export type HealthSnapshot = { database: readonly Reading[] | undefined; queue: QueueHealth | undefined }

/** The gauges of the parts themselves. */
const PART_HELPS: Gauges['helps'] = {
  part: {
    musette_up: 'Whether a part answers (1) or not (0); metrics of a part that does not answer are left out.',
  },
  'queue state': {
    musette_queue_jobs: 'Jobs by queue and state; completed and failed are those still kept.',
  },
  queue: {
    musette_queue_paused:
      'Whether a queue is paused (1) or not (0); a daemon that runs resumes it within a minute.',
  },
}

/** Makes gauges, those of the parts included, whose values are set at each scrape. */
export function makeGauges(
  registry: Registry,
  all: readonly Gauges[],
): (snapshot: HealthSnapshot, now: Date) => void {
  const gauges = new Map<string, Gauge>()
  const forgetValues: Array<() => void> = []
  for (const [labels, helps] of [{ helps: PART_HELPS }, ...all].flatMap(({ helps }) => Object.entries(helps)))
    for (const [name, help] of Object.entries(helps)) {
      const labelNames = labels.split(' ').filter(Boolean)
      const gauge = new Gauge({ registers: [registry], name, help, labelNames })
      gauges.set(name, gauge)
      // `reset` would set a gauge without labels to 0 instead of unknown.
      forgetValues.push(() => (labels ? gauge.reset() : gauge.remove()))
    }
  return (snapshot, now) => {
    for (const forget of forgetValues) forget()
    for (const { labels = {}, values } of [...readParts(snapshot), ...(snapshot.database ?? [])])
      for (const [name, value = null] of Object.entries(values)) {
        const number = toNumber(value, now)
        if (number !== null) gauges.get(name)?.set(labels, number)
      }
  }
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

/** Returns what Prometheus gets at `now`; null for no line. */
function toNumber(value: GaugeValue, now: Date): number | null {
  if (value === null || typeof value !== 'object') return value === null ? null : Number(value)
  if (value instanceof Date) return (now.getTime() - value.getTime()) / 1000
  return value.until && (value.until.getTime() - now.getTime()) / 1000
}
