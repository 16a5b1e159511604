import { DETAIL_FIELDS } from '../../../src/core/fields/activity-fields.ts'
import type { Truth } from './service.ts'

/** What each column of an activity should hold, from the service's own answer. */
export function expectedColumns(truth: Truth): Record<string, unknown> {
  const { name, description, summary } = truth.detail
  return {
    name,
    description,
    activity_type: truth.activity_type,
    started_at: new Date(truth.started_at),
    ...zoneOf(truth),
    ...Object.fromEntries(
      Object.entries(DETAIL_FIELDS).map(([column, { path }]) => [column, memberAt(summary, path) ?? null]),
    ),
    elapsed_s: elapsed(truth),
    ...placeOf(truth),
  }
}

/** The member of an object at a place such as `session.max_power`; undefined when it is not there. */
export function memberAt(of: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => Object.entries(value ?? {}).find(([key]) => key === name)?.[1], of)
}

function placeOf(truth: Truth): Record<string, number | null> {
  const sent = truth.detail.session_data.toSorted((a, b) => Number(a.unix_time) - Number(b.unix_time))
  const places = sent.flatMap(({ lat, lng }) =>
    typeof lat === 'number' && typeof lng === 'number' && (lat !== 0 || lng !== 0)
      ? [[lat, lng] as const]
      : [],
  )
  const [first] = places
  const most = (of: (...values: number[]) => number, at: 0 | 1) =>
    first ? places.reduce((value, place) => of(value, place[at]), first[at]) : null
  return {
    start_lat: first?.[0] ?? null,
    start_lng: first?.[1] ?? null,
    ...{
      south: most(Math.min, 0),
      north: most(Math.max, 0),
      west: most(Math.min, 1),
      east: most(Math.max, 1),
    },
  }
}

/** The zone that the service sent, or where that is UTC, of the place: all riders live in one zone. Else no truth tells it. */
function zoneOf(truth: Truth): { timezone?: string } {
  const { timezone } = truth.start_date
  if (timezone !== 'UTC') return { timezone }
  return placeOf(truth).start_lat === null ? {} : { timezone: 'America/Toronto' }
}

function elapsed(truth: Truth): number | null {
  const times = truth.detail.session_data.map((sample) => Number(sample.unix_time))
  return times.length === 0 ? null : (Math.max(...times) - Math.min(...times)) / 1_000
}
