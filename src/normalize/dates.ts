import { DateTime, FixedOffsetZone } from 'luxon'

/** A PHP DateTime as the service serialises it (service document, "start_date object"; any field may be missing). */
export type PhpDate = {
  date?: string | null | undefined
  timezone_type?: number | null | undefined
  timezone?: string | null | undefined
}

export type Moment = {
  instant: Date
  /** the zone as the service named it: `+02:00`, `EDT` or `America/Toronto` */
  timezone: string
  /** the wall clock in that zone, `YYYY-MM-DD HH:MM:SS.ffffff` */
  local: string
}

/** What the abbreviations of timezone_type 2 stand for, in minutes east of UTC; the meaning PHP gives each. */
const ABBREVIATION_MINUTES: Readonly<Record<string, number>> = {
  ...{ UTC: 0, GMT: 0, Z: 0, WET: 0, WEST: 60, BST: 60, IST: 120, CET: 60, CEST: 120, MET: 60, MEST: 120 },
  ...{ EET: 120, EEST: 180, MSK: 180, MSD: 240, SAST: 120, CAT: 120, EAT: 180, WAT: 60, PKT: 300 },
  ...{ HKT: 480, AWST: 480, JST: 540, KST: 540, ACST: 570, ACDT: 630, AEST: 600, AEDT: 660 },
  ...{ NZST: 720, NZDT: 780, HST: -600, AKST: -540, AKDT: -480, PST: -480, PDT: -420, MST: -420, MDT: -360 },
  ...{ CST: -360, CDT: -300, EST: -300, EDT: -240, AST: -240, ADT: -180, NST: -210, NDT: -150 },
}

/** The one form PHP serialises: anything after it, such as a zone of its own, would contradict `timezone`. */
const WALL_CLOCK = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d+)?$/
/** Postgres reads a year of five digits in no format that is sent to it. */
const LAST_YEAR = 9_999
/** Nothing is written in it; without one, luxon asks the system for its own, which takes ten milliseconds. */
const LOCALE = 'en-US'
/** Words that luxon takes for zones of this machine; the service cannot mean them. */
const OWN_ZONES: ReadonlySet<string> = new Set(['local', 'system', 'default'])

/**
 * Normalizes a PHP DateTime of any of the three timezone types (1 UTC offset, 2 abbreviation, 3 zone name) to an
 * instant, the zone's name and the wall clock. Undefined when the date cannot be read or the zone is unknown: a
 * guessed hour is worse than none. A wall clock that stands twice (clocks going back) means its first time.
 */
export function normalizeDate(wire: PhpDate | null | undefined): Moment | undefined {
  const local = wire?.date?.trim() ?? ''
  if (!wire?.timezone || !WALL_CLOCK.test(local)) return undefined
  const zone = zoneOf(wire.timezone)
  if (zone === undefined) return undefined
  const parsed = DateTime.fromSQL(local, { zone, locale: LOCALE })
  if (!parsed.isValid) return undefined
  const first = Math.min(...parsed.getPossibleOffsets().map((moment) => moment.toMillis()))
  const instant = new Date(first)
  const year = instant.getUTCFullYear()
  return year >= 1 && year <= LAST_YEAR ? { instant, timezone: wire.timezone, local } : undefined
}

// The name decides and not `timezone_type`, which can be missing or a string and adds nothing to it.
function zoneOf(timezone: string): string | FixedOffsetZone | undefined {
  const offset = /^([+-])(\d{1,2}):?(\d{2})(?::\d{2})?$/.exec(timezone)
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3])
    return FixedOffsetZone.instance(offset[1] === '-' ? -minutes : minutes)
  }
  const abbreviated = ABBREVIATION_MINUTES[timezone.toUpperCase()]
  if (abbreviated !== undefined) return FixedOffsetZone.instance(abbreviated)
  if (OWN_ZONES.has(timezone.toLowerCase())) return undefined
  return DateTime.utc().setZone(timezone).isValid ? timezone : undefined
}
