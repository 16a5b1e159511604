import { readSetting } from './settings.ts'

const NONE = '–'
/** The browser's own language, or English with the day first. */
const LOCALE = readSetting('dates') === 'browser' ? undefined : 'en-GB'
const inUtc = (parts: Intl.DateTimeFormatOptions, locale = LOCALE) =>
  new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...parts })
const DAY_PARTS = { day: 'numeric', month: 'short', year: 'numeric' } as const
const WALL_CLOCK = inUtc({ ...DAY_PARTS, weekday: 'short', hour: '2-digit', minute: '2-digit' })
const DAYS = {
  day: inUtc(DAY_PARTS),
  'with weekday': inUtc({ weekday: 'long', day: 'numeric', month: 'long' }),
  weekday: inUtc({ weekday: 'short' }),
  'without year': inUtc({ day: 'numeric', month: 'short' }),
  month: inUtc({ month: 'short' }, 'en-GB'),
}

type Known = number | null | undefined

/**
 * Formats a number with thousands separators and its unit; returns a dash if the number is unknown. Negative numbers have a minus sign (−),
 * and a rounded zero has no sign. `signDisplay`: `exceptZero` also writes plus signs.
 */
export function formatNumber(
  value: Known,
  unit = '',
  digits = 0,
  signDisplay: 'negative' | 'exceptZero' = 'negative',
): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE
  const text = value.toLocaleString('en', { maximumFractionDigits: digits, signDisplay }).replace('-', '−')
  return unit ? `${text} ${unit}` : text
}

/**
 * The units of distances, speeds and heights. `aKm` is a kilometre in the distance unit (and a km/h in the speed unit), `aMetre` a metre in
 * the height unit.
 */
export const UNITS =
  readSetting('distances') === 'miles'
    ? { distance: 'mi', speed: 'mph', aKm: 1 / 1.609344, height: 'ft', aMetre: 1 / 0.3048 }
    : { distance: 'km', speed: 'km/h', aKm: 1, height: 'm', aMetre: 1 }

const times = (value: Known, factor: number) => value && value * factor

/** Describes how many activities the sums and bests cover during a backfill; returns an empty text if all activities are fetched. */
export function describeMissing(all: number, toFetch: number): string {
  if (toFetch === 0) return ''
  return `based on ${formatNumber(all - toFetch)} of ${formatNumber(all)} activities; ${formatNumber(toFetch)} not fetched yet`
}

/** Formats a distance in kilometres, or in miles if preferred. */
export function formatDistance(km: Known, digits = 1): string {
  return formatNumber(times(km, UNITS.aKm), UNITS.distance, digits)
}

/** Formats a speed in km/h, or in mph if preferred; for a run, formats the pace. */
export function formatSpeed(kmh: Known, sport?: string): string {
  const speed = times(kmh, UNITS.aKm)
  return sport === 'running' ? `${formatPace(speed)} /${UNITS.distance}` : formatNumber(speed, UNITS.speed, 1)
}

/** Formats a speed as the time per kilometre or mile: `5:12`. */
export function formatPace(speed: Known): string {
  return speed && speed > 0 ? formatStopwatch(3_600 / speed) : NONE
}

/** Formats a height in metres, or in feet if miles are preferred. */
export function formatHeight(m: Known): string {
  return formatNumber(times(m, UNITS.aMetre), UNITS.height)
}

/** Formats a note with values; returns an empty text if a value is unknown. */
export function note(words: TemplateStringsArray, ...values: readonly string[]): string {
  return values.some((value) => value === '' || value === NONE) ? '' : String.raw({ raw: words }, ...values)
}

/** Matches a visible character: no space, control or format character, filler or braille blank. */
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Returns a name, or `none` if the name has no visible character. */
export function nameOr(name: string | null, none: string): string {
  return name !== null && VISIBLE.test(name) ? name : none
}

/** Maximum length of a name in a list, characters; an activity's own page shows the whole name. */
const MAX_NAME = 120

/** Formats a name and cuts a very long name; returns `none` if the name has no visible character. */
export function formatName(given: string | null, none = 'no name'): string {
  const name = nameOr(given, none)
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1).replace(/[\ud800-\udbff]$/, '')}…` : name
}

/** Formats a power, W, per kilogram of the rider's weight; returns an empty text if the power or the weight is unknown. */
export function formatPerKg(watts: Known, kg: Known): string {
  if (watts === null || watts === undefined || !kg || kg <= 0) return ''
  return formatNumber(watts / kg, 'W/kg', 2)
}

/** Formats seconds like a stopwatch: `1:02:03`, `2:03`. */
export function formatStopwatch(seconds: Known): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE
  const whole = Math.max(0, Math.round(seconds))
  const minutes = Math.floor(whole / 60)
  const two = (number: number) => String(number).padStart(2, '0')
  return minutes < 60
    ? `${minutes}:${two(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`
}

/** Formats seconds in one or two units: `45 s`, `20 min`, `1 h 30 min`, `3 d 4 h`. */
export function formatSpan(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const units: ReadonlyArray<[number, string]> = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor((whole % 86_400) / 3_600), 'h'],
    [Math.floor((whole % 3_600) / 60), 'min'],
    [whole % 60, 's'],
  ]
  const first = units.findIndex(([count]) => count > 0)
  if (first < 0) return '0 s'
  return units
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

/** Formats a local time without an offset (`2026-11-18T17:05:00`); converts no time zone. */
export function formatWallClock(local: string | null): string {
  return local === null ? 'no readable date' : WALL_CLOCK.format(new Date(`${local}Z`))
}

/**
 * Formats a day that the daemon sent as `2026-11-18`, or as seconds from 1970 to 0:00 UTC of the day. Throws on an instant, because an
 * instant's day depends on the rider's time zone.
 */
export function formatDay(day: string | number, as: keyof typeof DAYS = 'day'): string {
  return DAYS[as].format(typeof day === 'number' ? day * 1_000 : new Date(`${day}T00:00:00Z`))
}

/** Formats an instant in this machine's time zone, with the name of the zone. */
export function formatInstant(instant: Date): string {
  return instant.toLocaleString(LOCALE, { dateStyle: 'medium', timeStyle: 'long' })
}

/** Returns the indexes of each month's last instant; `at` is ascending seconds since 1970, UTC. */
export function lastOfMonths(at: readonly number[]): number[] {
  const month = (seconds: number | undefined) =>
    seconds === undefined ? '' : new Date(seconds * 1_000).toISOString().slice(0, 7)
  return at.flatMap((seconds, index) => (month(seconds) === month(at[index + 1]) ? [] : [index]))
}

export const capitalize = (text: string): string => text.replace(/^./, (letter) => letter.toUpperCase())
