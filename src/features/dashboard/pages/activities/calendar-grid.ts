import type { Sent } from '../../shared/sent.ts'
import type { findActivityCalendar } from './queries.ts'

/** The days of a year that have activities, one array a quantity. */
export type CalendarColumns = Sent<typeof findActivityCalendar>['calendar']

type Sums = { activities: number; elapsed_s: number | null; xss: number | null }
/** A day of a year. `level`: 0 without activities, 1 to 4 by load, undefined when the load is unknown. */
export type CalendarDay = Sums & { day: string; level: number | undefined }
export type CalendarMonth = Sums & { month: string }

const DAY_MS = 86_400_000
const LEVELS = 4

/** Makes the weeks of a year, Monday first; days of other years are undefined. */
export function makeWeeksOfYear(year: number, columns: CalendarColumns) {
  const known = new Map(columns.days.map((day, index) => [day, index]))
  const bounds = boundsOf(columns.xss)
  const begin = Date.UTC(year, 0, 1)
  // Date.UTC reads the years 0 to 99 as 1900 to 1999; no activity is that old.
  const before = (new Date(begin).getUTCDay() + 6) % 7
  const days: Array<CalendarDay | undefined> = Array.from({ length: before })
  for (let at = begin; new Date(at).getUTCFullYear() === year; at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10)
    const index = known.get(day) ?? -1
    const activities = columns.activities[index] ?? 0
    const xss = columns.xss[index] ?? null
    days.push({
      day,
      activities,
      elapsed_s: columns.elapsed_s[index] ?? null,
      xss,
      level: activities === 0 ? 0 : levelOf(xss, bounds),
    })
  }
  while (days.length % 7 !== 0) days.push(undefined)
  const weeks = Array.from({ length: days.length / 7 }, (_, week) => days.slice(week * 7, week * 7 + 7))
  return { weeks, bounds }
}

/** Sums the days up by month; a sum is null where no day has the number. */
export function makeMonths(columns: CalendarColumns): CalendarMonth[] {
  const months = new Map<string, CalendarMonth>()
  columns.days.forEach((day, index) => {
    const month = day.slice(0, 7)
    const sum = months.get(month) ?? { month, activities: 0, elapsed_s: null, xss: null }
    months.set(month, {
      month,
      activities: sum.activities + (columns.activities[index] ?? 0),
      elapsed_s: plus(sum.elapsed_s, columns.elapsed_s[index] ?? null),
      xss: plus(sum.xss, columns.xss[index] ?? null),
    })
  })
  return [...months.values()]
}

function plus(sum: number | null, value: number | null): number | null {
  return value === null ? sum : (sum ?? 0) + value
}

/** Computes where the levels 2, 3 and 4 begin: each level has a quarter of the days with a load. */
function boundsOf(loads: ReadonlyArray<number | null>): number[] {
  const known = loads.filter((load) => load !== null).toSorted((a, b) => a - b)
  return Array.from(
    { length: LEVELS - 1 },
    (_, index) => known[Math.floor((known.length * (index + 1)) / LEVELS)] ?? 0,
  )
}

function levelOf(xss: number | null, bounds: readonly number[]): number | undefined {
  return xss === null ? undefined : 1 + bounds.filter((bound) => xss >= bound).length
}
