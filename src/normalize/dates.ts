import { DateTime, FixedOffsetZone, IANAZone, type Zone } from 'luxon'
import type { START_FIELDS } from '../fields/activity-fields.ts'
import type { Values } from '../fields/field.ts'
import type { Drift } from '../service/wire/lenient.ts'

/** A PHP DateTime as the service serialises it (service document, "start_date object"; any field may be missing). */
type PhpDate = Values<typeof START_FIELDS>

export type Moment = {
  /** whole milliseconds; `local` has every digit of the second */
  instant: Date
  /** the zone as the service named it: `+02:00`, `EDT` or `America/Toronto` */
  timezone: string
  /** the wall clock in that zone, `YYYY-MM-DD HH:MM:SS.ffffff` */
  local: string
}

/** What the abbreviations of timezone_type 2 stand for, in minutes east of UTC; the meaning PHP gives each. */
const ABBREVIATION_MINUTES: Readonly<Record<string, number>> = {
  ...{
    UTC: 0,
    GMT: 0,
    Z: 0,
    WET: 0,
    WEST: 60,
    BST: 60,
    IST: 120,
    IDT: 180,
    CET: 60,
    CEST: 120,
    MET: 60,
    MEST: 120,
  },
  ...{ EET: 120, EEST: 180, MSK: 180, MSD: 240, SAST: 120, CAT: 120, EAT: 180, WAT: 60, PKT: 300, WIB: 420 },
  ...{
    HKT: 480,
    WITA: 480,
    AWST: 480,
    AWDT: 540,
    WIT: 540,
    JST: 540,
    KST: 540,
    ACST: 570,
    ACDT: 630,
    CHST: 600,
  },
  ...{ AEST: 600, AEDT: 660, NZST: 720, NZDT: 780, SST: -660, HST: -600, HDT: -540, AKST: -540, AKDT: -480 },
  ...{ PST: -480, PDT: -420, MST: -420, MDT: -360, CST: -360, CDT: -300, EST: -300, EDT: -240, AST: -240 },
  ...{ ADT: -180, ART: -180, NST: -210, NDT: -150 },
}
/** Abbreviations that are also the names of zones with a summer time; timezone_type 3 means the zone. */
const ALSO_ZONES: ReadonlySet<string> = new Set(['WET', 'CET', 'MET', 'EET'])
const ZONE_NAME = 3
/** Zone names of three letters. The others that luxon knows are abbreviations, to which PHP gives another meaning. */
const SHORT_ZONES: ReadonlySet<string> = new Set([...ALSO_ZONES, 'PRC', 'ROC', 'ROK', 'UCT'])

/** The only form that PHP serialises; more, such as a zone, would contradict `timezone`. */
const WALL_CLOCK = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d+)?$/
/** Postgres reads a year of five digits in no format that is sent to it. */
const LAST_YEAR = 9_999
/** No text is formatted with it; without a locale, luxon reads the system's, which takes ten milliseconds. */
const LOCALE = 'en-US'
/** Words that luxon resolves to this machine's zone, which the service cannot know. */
const OWN_ZONES: ReadonlySet<string> = new Set(['local', 'system', 'default'])

/**
 * Normalizes a PHP DateTime (service document, "start_date object") of any of the three timezone types (1 UTC offset,
 * 2 abbreviation, 3 zone name) to an instant, the zone's name and the wall clock. Undefined when the date cannot be read or the
 * zone is unknown, because a guessed hour is worse than none. A wall clock that occurs twice, when clocks go back, means the time
 * that is nearer to `near` (ms since 1970), or without it the first.
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
  return year >= 1 && year <= LAST_YEAR
}

/** Makes the drift of a date that was sent and cannot be read; none for one that can be read or is missing. */
export function driftOfDate(field: string, wire: PhpDate): Drift[] {
  if (!wire.date || normalizeDate(wire)) return []
  return [{ field, kind: 'type', example: `${wire.date} ${wire.timezone ?? ''}`.trim() }]
}

/** Names of UTC itself, which tell nothing about where the rider was. */
const PLAIN_UTC = /^(?:etc\/)?(?:utc|uct|gmt|gmt[+-]?0|zulu|universal|greenwich)$|^z$|^[+-]00:?00(?::00)?$/i

/** Tells whether a time zone is plain UTC. `Europe/London` is not, nor is the abbreviation `WET`. */
export function isPlainUtc(timezone: string): boolean {
  return PLAIN_UTC.test(timezone)
}

/**
 * Computes the wall clock minus UTC in a time zone at an instant (ms since 1970), s. The zone is an IANA name, an offset or an
 * abbreviation; undefined for any other text, and where the wall clock would show a year that no column can hold.
 */
export function offsetSecondsAt(timezone: string, instant: number): number | undefined {
  const zone = zoneOf(timezone, undefined)
  const seconds = zone && Math.round(zone.offset(instant) * SECONDS_A_MINUTE)
  return seconds !== undefined && isInYears(instant + seconds * MS_A_SECOND) ? seconds : undefined
}

const SECONDS_A_MINUTE = 60
const MS_A_SECOND = 1_000
/** Postgres knows no offset beyond it, and no place on earth has one of more than 14 hours. */
const OFFSET_LIMIT_MINUTES = 16 * 60

// The name decides, except for a few: `timezone_type` can be missing.
function zoneOf(timezone: string, type: number | null | undefined): Zone | undefined {
  const offset = /^([+-])(\d{1,2}):?([0-5]\d)(?::([0-5]\d))?$/.exec(timezone)
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]) + Number(offset[4] ?? 0) / SECONDS_A_MINUTE
    if (minutes >= OFFSET_LIMIT_MINUTES) return undefined
    return FixedOffsetZone.instance(offset[1] === '-' ? -minutes : minutes)
  }
  const name = timezone.toUpperCase()
  const abbreviated = ABBREVIATION_MINUTES[name]
  const isZone = type === ZONE_NAME && ALSO_ZONES.has(name)
  if (abbreviated !== undefined && !isZone) return FixedOffsetZone.instance(abbreviated)
  if (OWN_ZONES.has(timezone.toLowerCase())) return undefined
  if (/^[A-Z]{3}$/.test(name) && !SHORT_ZONES.has(name)) return undefined
  const zone = IANAZone.create(timezone)
  return zone.isValid ? zone : undefined
}
