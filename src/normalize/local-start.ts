import { createRequire } from 'node:module'
import type { Place } from '../store/activities/activity-changes.ts'
import type { ZoneChange, ZoneFacts } from '../store/activities/zone-rows.ts'
import { isPlainUtc, type Moment, offsetSecondsAt } from './dates.ts'

const MS_A_SECOND = 1_000
/** Farther from each other in time, two activities say nothing about where the rider was. */
const NEAREST_WITHIN_MS = 30 * 24 * 3_600 * MS_A_SECOND

type LocalStart = {
  startedAt: Date
  timezone: string
  /** the wall clock of `timezone`, `YYYY-MM-DD HH:MM:SS.ffffff` */
  startedAtLocal: string
  timezoneSource: 'service' | 'position' | 'unknown'
}

/**
 * Normalizes a start to the rider's own wall clock, as far as one answer tells it: by the zone that the service sent, or where
 * that is plain UTC, by the zone of the first position; else UTC, named as unknown. The instant is the service's in any case.
 */
export function normalizeLocalStart(start: Moment, place?: Place): LocalStart {
  const { instant: startedAt, timezone, local } = start
  if (!isPlainUtc(timezone)) return { startedAt, timezone, startedAtLocal: local, timezoneSource: 'service' }
  const zone = place && zoneOfPlace(place.startLat, place.startLng)
  const offsetS = zone === undefined ? undefined : offsetSecondsAt(zone, startedAt.getTime())
  if (zone === undefined || offsetS === undefined)
    return { startedAt, timezone, startedAtLocal: local, timezoneSource: 'unknown' }
  return {
    startedAt,
    timezone: zone,
    startedAtLocal: moveWallClock(local, offsetS),
    timezoneSource: 'position',
  }
}

function zoneOfPlace(lat: number | null, lng: number | null): string | undefined {
  return lat === null || lng === null ? undefined : zoneAt(lat, lng)
}

/** Moves a wall clock of UTC by an offset, s. Every digit of the second stays: an offset has no fractions of one. */
function moveWallClock(utc: string, offsetS: number): string {
  const [seconds, fraction] = utc.split('.')
  const moved = new Date(Date.parse(`${seconds?.replace(' ', 'T')}Z`) + offsetS * MS_A_SECOND)
  const text = moved.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ')
  return fraction === undefined ? text : `${text}.${fraction}`
}

type Found = Pick<ZoneChange, 'timezone' | 'timezoneSource' | 'offsetS'>
type Anchor = { at: number; timezone: string }

/**
 * Finds the time zone of each activity of an account from all stored facts. The first known one counts: the zone of the service; of the
 * first position, else of the one in the FIT file; the offset of the FIT file, named after the nearest known zone or the home with this
 * offset at the time; the nearest activity in time with one of these, within 30 days; `home`; UTC. `rows` are in the order of their starts.
 * With `everyPlace`, zones of positions are looked up again. Returns the activities whose row differs.
 */
export function normalizeZones(
  rows: readonly ZoneFacts[],
  { home, everyPlace = false }: { home: string | null; everyPlace?: boolean },
): ZoneChange[] {
  const own = rows.map((row) => ownZoneOf(row, everyPlace))
  const places = anchorsOf(rows, own)
  const sure = rows.map((row, index) => own[index] ?? zoneOfFile(row, places, home))
  const anchors = anchorsOf(rows, sure)
  return rows.flatMap((row, index) => {
    const found = sure[index] ?? borrowedZoneOf(row, anchors, home)
    const isKept =
      found.timezone === row.timezone &&
      found.timezoneSource === row.timezoneSource &&
      found.offsetS === row.offsetS
    return isKept ? [] : [{ ...found, was: row }]
  })
}

function ownZoneOf(row: ZoneFacts, everyPlace: boolean): Found | undefined {
  const { timezone, timezoneSource, offsetS } = row
  const [lat, lng] = row.startLat === null ? [row.fileLat, row.fileLng] : [row.startLat, row.startLng]
  if (timezone !== null && offsetS !== null && timezoneSource === 'service')
    return { timezone, timezoneSource, offsetS }
  const isLookedUp = timezoneSource === 'position' && lat !== null && !everyPlace
  const zone = isLookedUp ? (timezone ?? undefined) : zoneOfPlace(lat, lng)
  return zone === undefined ? undefined : inZone(row, zone, 'position')
}

function zoneOfFile(row: ZoneFacts, places: readonly Anchor[], home: string | null): Found | undefined {
  const { fileOffsetS: offsetS } = row
  if (offsetS === null) return undefined
  const at = row.startedAt.getTime()
  const names = [nearestOf(places, at), home].filter((name) => name != null)
  const timezone = names.find((name) => offsetSecondsAt(name, at) === offsetS) ?? formatOffset(offsetS)
  return { timezone, timezoneSource: 'file', offsetS }
}

function borrowedZoneOf(row: ZoneFacts, anchors: readonly Anchor[], home: string | null): Found {
  const nearest = nearestOf(anchors, row.startedAt.getTime())
  return (
    (nearest !== undefined ? inZone(row, nearest, 'nearest') : undefined) ??
    (home !== null ? inZone(row, home, 'setting') : undefined) ?? {
      timezone: 'UTC',
      timezoneSource: 'unknown',
      offsetS: 0,
    }
  )
}

function inZone(row: ZoneFacts, timezone: string, timezoneSource: Found['timezoneSource']) {
  const offsetS = offsetSecondsAt(timezone, row.startedAt.getTime())
  return offsetS === undefined ? undefined : { timezone, timezoneSource, offsetS }
}

function anchorsOf(rows: readonly ZoneFacts[], found: ReadonlyArray<Found | undefined>): Anchor[] {
  return rows.flatMap((row, index) => {
    const timezone = found[index]?.timezone
    return timezone === undefined ? [] : [{ at: row.startedAt.getTime(), timezone }]
  })
}

/** Finds the zone of the nearest of `anchors`, which are in the order of time; of two equally near the earlier one. */
function nearestOf(anchors: readonly Anchor[], at: number): string | undefined {
  let [low, high] = [0, anchors.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((anchors[middle]?.at ?? 0) < at) low = middle + 1
    else high = middle
  }
  const [before, after] = [anchors[low - 1], anchors[low]]
  const distance = (anchor: Anchor | undefined) => Math.abs((anchor?.at ?? Number.POSITIVE_INFINITY) - at)
  const nearest = distance(before) <= distance(after) ? before : after
  return distance(nearest) <= NEAREST_WITHIN_MS ? nearest?.timezone : undefined
}

/** Writes an offset, s, as `+05:45`; with its seconds where it has any. */
function formatOffset(offsetS: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const rest = Math.abs(offsetS)
  const seconds = rest % 60
  const text = `${offsetS < 0 ? '-' : '+'}${two(Math.floor(rest / 3_600))}:${two(Math.floor(rest / 60) % 60)}`
  return seconds === 0 ? text : `${text}:${two(seconds)}`
}

type Lookup = {
  find(lat: number, lng: number): string[]
  setCache(options: { store: Pick<Map<string, object>, 'get' | 'set'> }): void
}

/** Cells of the map that stay in memory. A rider's activities begin in a few of them, and one takes 20 kB to some MB. */
const CELLS = 16

let lookup: Lookup | undefined

/**
 * Finds the time zone of a place, an IANA name, by the borders of the time zones and of the territorial waters; at sea by the
 * longitude (`Etc/GMT+3`). Degrees, WGS 84. Undefined for numbers that are not a place on earth. The borders are those of
 * timezone-boundary-builder; where states dispute a place, the first name counts.
 */
export function zoneAt(lat: number, lng: number): string | undefined {
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180)) return undefined
  lookup ??= loadLookup()
  return lookup.find(lat, lng)[0]
}

/** Loads the library at its first use, because its index has a megabyte and most commands do not need it. */
function loadLookup(): Lookup {
  const loaded: Lookup = createRequire(import.meta.url)('geo-tz/all')
  loaded.setCache({ store: makeCellCache() })
  return loaded
}

function makeCellCache(): Pick<Map<string, object>, 'get' | 'set'> {
  const cells = new Map<string, object>()
  return {
    get: (name) => cells.get(name),
    set(name, cell) {
      const oldest = cells.keys().next()
      if (cells.size >= CELLS && !oldest.done) cells.delete(oldest.value)
      return cells.set(name, cell)
    },
  }
}
