import type { Truth } from './service.ts'

const TOP = `xss xlss xhss xpss xep mep tws sp sfd focus specificity difficulty difficulty_rating distance duration medal
  breakthrough total_grams_carbs total_grams_fat training_status freshness street_view activity_map chart_view`
const SESSION = 'max_power avg_power max_cadence total_elevation_gain total_calories'

/** What each column of an activity should hold, from the service's own answer. */
export function expectedColumns(truth: Truth): Record<string, unknown> {
  const { name, description, summary } = truth.detail
  const progression = member(summary, 'progression')
  return {
    name,
    description,
    activity_type: truth.activity_type,
    started_at: new Date(truth.started_at),
    ...zoneOf(truth),
    ...picked(summary, TOP, ''),
    ...picked(member(summary, 'session'), SESSION, ''),
    ...picked(member(summary, 'sig'), 'ftp atc pp', 'sig_'),
    ...picked(member(summary, 'prev_sig'), 'ftp atc pp ltp', 'prev_sig_'),
    ...picked(member(progression, 'tl'), 'ftp hie pp', 'tl_'),
    ...picked(member(progression, 'rl'), 'ftp hie pp', 'rl_'),
    progression_date: progression.date ?? null,
    form: progression.form ?? null,
    elapsed_s: elapsed(truth),
    ...placeOf(truth),
  }
}

function picked(from: Record<string, unknown>, fields: string, prefix: string): Record<string, unknown> {
  return Object.fromEntries(fields.split(/\s+/).map((field) => [`${prefix}${field}`, from[field] ?? null]))
}

function member(of: Record<string, unknown>, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(of[name] ?? {}))
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
