import { createRequire } from 'node:module'
import { DateTime, FixedOffsetZone, IANAZone, type Zone } from 'luxon'
import { SECOND } from '../../kit/time.ts'
import type { START_FIELDS } from '../fields/activity-fields.ts'
import type { Values } from '../fields/field.ts'
import type { Drift } from '../service/wire/lenient.ts'
import type { Place } from '../store/activities/activity-changes.ts'
import type { ZoneChange, ZoneFacts } from '../store/activities/zone-rows.ts'

/** Maximum time between two activities if one activity's time zone is used for the other. */
const NEAREST_WITHIN_MS = 30 * 24 * 3_600 * SECOND

type LocalStart = {
  startedAt: Date
  timezone: string
  /** local time in `timezone`, `YYYY-MM-DD HH:MM:SS.ffffff` */
  startedAtLocal: string
  timezoneSource: 'service' | 'position' | 'unknown'
}

/**
 * Converts a start to the rider's local time, as far as one response contains it: in the zone that the service sent or, if that is plain UTC,
 * in the zone of the first position. Otherwise the local time is UTC, marked `unknown`. The instant is always the service's.
 */
export function normalizeLocalStart(start: Moment, place?: Place): LocalStart {
  const { instant: startedAt, timezone, local } = start
  if (!PLAIN_UTC.test(timezone))
    return { startedAt, timezone, startedAtLocal: local, timezoneSource: 'service' }
  const zone = place && zoneOfPlace(place.startLat, place.startLng)
  const offsetS = zone === undefined ? undefined : offsetSecondsAt(zone, startedAt.getTime())
  if (zone === undefined || offsetS === undefined)
    return { startedAt, timezone, startedAtLocal: local, timezoneSource: 'unknown' }
  const startedAtLocal = moveWallClock(local, offsetS)
  return { startedAt, timezone: zone, startedAtLocal, timezoneSource: 'position' }
}

function zoneOfPlace(lat: number | null, lng: number | null): string | undefined {
  return lat === null || lng === null ? undefined : zoneAt(lat, lng)
}

/** Adds an offset, s, to a UTC time. All digits of the second are kept: offsets are whole seconds. */
function moveWallClock(utc: string, offsetS: number): string {
  const [seconds, fraction] = utc.split('.')
  const moved = new Date(Date.parse(`${seconds?.replace(' ', 'T')}Z`) + offsetS * SECOND)
  const text = moved.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ')
  return fraction === undefined ? text : `${text}.${fraction}`
}

type Found = Pick<ZoneChange, 'timezone' | 'timezoneSource' | 'offsetS'>
type Anchor = { at: number; timezone: string }
const UNKNOWN_ZONE: Found = { timezone: 'UTC', timezoneSource: 'unknown', offsetS: 0 }

/**
 * Finds the time zone of each activity of an account from all stored facts. The first known of these counts: the zone of the service; the
 * zone of the first position, otherwise of the position in the FIT file; the offset in the FIT file, named after the nearest known zone or
 * `home` if one has this offset then; the zone of the nearest such activity within 30 days; `home`; UTC. `rows` are in order of start. With
 * `everyPlace`, zones of positions are looked up again. Returns the activities whose row changes.
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
    (home !== null ? inZone(row, home, 'setting') : undefined) ??
    UNKNOWN_ZONE
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

/** Finds the zone of the nearest anchor within 30 days. `anchors` are in order of time; of two equally near anchors the earlier one counts. */
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

/** Formats an offset, s, as `+05:45`, with seconds only if it has any. */
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

/** Maximum number of map cells in memory. The activities of a rider start in a few cells; a cell takes 20 kB to a few MB. */
const MAX_CELLS = 16

let lookup: Lookup | undefined

/**
 * Finds the IANA time zone of a place by the borders of timezone-boundary-builder, including territorial waters; at sea by longitude
 * (`Etc/GMT+3`). Degrees, WGS 84. Undefined if the numbers are not a place on earth. In a disputed place the first name counts.
 */
function zoneAt(lat: number, lng: number): string | undefined {
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180)) return undefined
  lookup ??= loadLookup()
  return lookup.find(lat, lng)[0]
}

/** Loads the library at first use, because its index takes a megabyte and most commands do not need it. */
function loadLookup(): Lookup {
  const loaded: Lookup = createRequire(import.meta.url)('geo-tz/all')
  const cells = new Map<string, object>()
  const set = (name: string, cell: object) => {
    const oldest = cells.keys().next()
    if (cells.size >= MAX_CELLS && !oldest.done) cells.delete(oldest.value)
    return cells.set(name, cell)
  }
  loaded.setCache({ store: { get: (name) => cells.get(name), set } })
  return loaded
}

/** A PHP DateTime as serialised by the service (service document, "start_date object"). Any field may be missing. */
type PhpDate = Values<typeof START_FIELDS>

export type Moment = {
  /** in whole ms; `local` keeps every digit of the second */
  instant: Date
  /** the zone as the service named it: `+02:00`, `EDT` or `America/Toronto` */
  timezone: string
  /** local time in that zone, `YYYY-MM-DD HH:MM:SS.ffffff` */
  local: string
}

/** Offsets of the abbreviations of timezone_type 2 as PHP defines them, in minutes east of UTC. */
const ABBREVIATION_MINUTES = new Map(
  Array.from(
    `UTC 0 GMT 0 Z 0 WET 0 WEST 60 BST 60 CET 60 CEST 120 MET 60 MEST 120 EET 120 EEST 180 IST 120 IDT 180
     MSK 180 MSD 240 WAT 60 CAT 120 SAST 120 EAT 180 PKT 300 WIB 420 WITA 480 WIT 540 HKT 480 JST 540 KST 540
     AWST 480 AWDT 540 ACST 570 ACDT 630 AEST 600 AEDT 660 CHST 600 NZST 720 NZDT 780 SST -660 HST -600 HDT -540
     AKST -540 AKDT -480 PST -480 PDT -420 MST -420 MDT -360 CST -360 CDT -300 EST -300 EDT -240 AST -240
     ADT -180 NST -210 NDT -150 ART -180`.matchAll(/([A-Z]+) (-?\d+)/g),
    ([, name, minutes]) => [name, Number(minutes)],
  ),
)
/** Abbreviations that also name zones with daylight saving time. With timezone_type 3 the zone is meant. */
const ALSO_ZONES: ReadonlySet<string> = new Set(['WET', 'CET', 'MET', 'EET'])
const ZONE_NAME = 3
/** Zone names of three letters. luxon knows other names, but PHP gives these abbreviations another meaning. */
const SHORT_ZONES: ReadonlySet<string> = new Set([...ALSO_ZONES, 'PRC', 'ROC', 'ROK', 'UCT'])

/** The only format that PHP serialises. Anything more, such as a zone, would contradict `timezone`. */
const WALL_CLOCK = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d+)?$/
/** Maximum year: Postgres cannot read years of five digits in the formats that we send. */
const MAX_YEAR = 9_999
/** Not used for formatting. Without a locale, luxon reads the system's locale, which takes 10 ms. */
const LOCALE = 'en-US'
/** Names that luxon resolves to the zone of this machine, which the service cannot know. */
const OWN_ZONES: ReadonlySet<string> = new Set(['local', 'system', 'default'])

/**
 * Normalizes a PHP DateTime (service document, "start_date object") of timezone_type 1 (UTC offset), 2 (abbreviation) or 3 (zone name) to
 * an instant, the zone and the local time. Undefined if the date cannot be read or the zone is unknown, because a guessed hour is worse
 * than none. A local time that occurs twice when clocks go back means the instant nearest to `near` (ms since 1970), or the first.
 */
export function normalizeDate(wire: PhpDate, near?: number): Moment | undefined {
  const local = wire.date?.trim() ?? ''
  if (!wire.timezone || !WALL_CLOCK.test(local)) return undefined
  const zone = zoneOf(wire.timezone, wire.timezoneType)
  if (zone === undefined) return undefined
  const parsed = DateTime.fromSQL(local, { zone, locale: LOCALE })
  if (!parsed.isValid) return undefined
  const times = parsed.getPossibleOffsets().map((moment) => moment.toMillis())
  const distance = (time: number) => (near === undefined ? time : Math.abs(time - near))
  const instant = new Date(times.reduce((best, time) => (distance(time) < distance(best) ? time : best)))
  return isInYears(instant.getTime()) ? { instant, timezone: wire.timezone, local } : undefined
}

function isInYears(ms: number): boolean {
  const year = new Date(ms).getUTCFullYear()
  return year >= 1 && year <= MAX_YEAR
}

/** Returns the drift of a date that was sent and cannot be read; otherwise an empty list. */
export function driftOfDate(field: string, wire: PhpDate): Drift[] {
  if (!wire.date || normalizeDate(wire)) return []
  return [{ field, kind: 'type', example: `${wire.date} ${wire.timezone ?? ''}`.trim() }]
}

/** Names of UTC, which say nothing about where the rider was. `Europe/London` and `WET` are not among them. */
const PLAIN_UTC = /^(?:etc\/)?(?:utc|uct|gmt|gmt[+-]?0|zulu|universal|greenwich)$|^z$|^[+-]00:?00(?::00)?$/i

/**
 * Computes local time minus UTC in a time zone at an instant (ms since 1970), s. The zone is an IANA name, an offset or an abbreviation.
 * Undefined for any other string, or if the local year does not fit a column.
 */
export function offsetSecondsAt(timezone: string, instant: number): number | undefined {
  const zone = zoneOf(timezone, undefined)
  const seconds = zone && Math.round(zone.offset(instant) * SECONDS_A_MINUTE)
  return seconds !== undefined && isInYears(instant + seconds * SECOND) ? seconds : undefined
}

const SECONDS_A_MINUTE = 60
/** Offsets must be below this: Postgres accepts no larger offsets, and no place on earth is more than 14 hours from UTC. */
const OFFSET_LIMIT_MINUTES = 16 * 60

// The name decides, because `timezone_type` may be missing. The type matters only for ALSO_ZONES.
function zoneOf(timezone: string, type: number | null | undefined): Zone | undefined {
  const offset = /^([+-])(\d{1,2}):?([0-5]\d)(?::([0-5]\d))?$/.exec(timezone)
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]) + Number(offset[4] ?? 0) / SECONDS_A_MINUTE
    if (minutes >= OFFSET_LIMIT_MINUTES) return undefined
    return FixedOffsetZone.instance(offset[1] === '-' ? -minutes : minutes)
  }
  const name = timezone.toUpperCase()
  const abbreviated = ABBREVIATION_MINUTES.get(name)
  const isZone = type === ZONE_NAME && ALSO_ZONES.has(name)
  if (abbreviated !== undefined && !isZone) return FixedOffsetZone.instance(abbreviated)
  if (OWN_ZONES.has(timezone.toLowerCase())) return undefined
  if (/^[A-Z]{3}$/.test(name) && !SHORT_ZONES.has(name)) return undefined
  const zone = IANAZone.create(timezone)
  return zone.isValid ? zone : undefined
}
