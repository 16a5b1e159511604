import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatDay, formatNumber, formatSpan } from '../../shared/format.ts'
import { Section } from '../../shared/parts.tsx'
import type { Sent } from '../../shared/sent.ts'
import { type Column, Table } from '../../shared/table.tsx'
import type { findActivityCalendar } from './queries.ts'

type Sums = Sent<typeof findActivityCalendar>['calendar']
type Day = Sums['days'][number]
type Week = ReadonlyArray<Day | undefined>

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const DAY_MS = 86_400_000
/** Number of days by which each key moves the focus. */
const STEPS: Readonly<Record<string, number>> = {
  ...{ ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1 },
  ...{ PageUp: -28, PageDown: 28 },
}
const LEVELS = [0, 1, 2, 3, 4]

const MONTHS: readonly Column<Sums['months'][number]>[] = [
  { title: 'Month', names: 'month', cell: ({ month }) => formatDay(`${month}-01`, 'month') },
  { title: 'Activities', number: true, cell: ({ activities }) => formatNumber(activities) },
  { title: 'Time', number: true, cell: ({ elapsed_s: s }) => formatNumber(s && s / 3_600, 'h', 1) },
  { title: 'XSS', number: true, cell: ({ xss }) => formatNumber(xss) },
]

type Props = {
  year: number
  sums: Sums
  /** the chosen day */
  chosen: string | undefined
  onDay: (day: string) => void
}

/**
 * The calendar of a year, with a square for each day, and a table of the months. A square is darker for more load; a click on a square
 * selects its day.
 */
export function Calendar({ year, sums, chosen, onDay }: Props) {
  const weeks = useMemo(() => weeksOf(year, sums.days), [year, sums])
  const bounds = useMemo(() => boundsOf(sums.days), [sums])
  const grid = useRef<HTMLDivElement>(null)
  const scroll = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState<string>()
  const days = weeks.flat().filter((day) => day !== undefined)
  const known = (day: string | undefined) => days.some((one) => one.day === day)
  // Tab reaches only one day: the day last reached by arrow keys, or else the selected day, or else the newest day with activities.
  const newest = days.findLast(({ activities }) => activities > 0) ?? days[0]
  const reached = [focused, chosen, newest?.day].find(known)
  useLayoutEffect(() => {
    // On a narrow screen, scrolls to the last activities.
    const last = weeks.findLastIndex((week) => week.some((day) => day && day.activities > 0))
    const { current: view } = scroll
    if (view) view.scrollLeft = ((last + 2) / weeks.length) * view.scrollWidth - view.clientWidth
  }, [weeks])
  const onKey = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    if (step === undefined || reached === undefined) return
    event.preventDefault()
    const target = formatKey(Date.parse(reached) + step * DAY_MS)
    if (!known(target)) return
    setFocused(target)
    grid.current?.querySelector<HTMLElement>(`[data-day="${target}"]`)?.focus()
  }
  const count = sums.days.length
  return (
    <Section id="calendar-title" title={String(year)}>
      <figure class="year">
        <div class="year-scroll" ref={scroll}>
          <MonthNames weeks={weeks} />
          <div
            class="calendar"
            role="grid"
            ref={grid}
            aria-label={`Days of ${year} by load. Arrow keys move, Enter lists the activities of a day.`}
            onKeyDown={onKey}
          >
            {WEEKDAYS.map((name, weekday) => (
              // For screen readers, rows are weekdays too.
              <div key={name} role="row">
                <span role="rowheader" class="weekday">
                  {/* Only every second name is visible, for lack of room; screen readers read all. */}
                  <span class={weekday % 2 === 0 ? undefined : 'hidden'}>{name}</span>
                </span>
                {weeks.map((week, index) => (
                  <DayButton
                    key={index}
                    day={week[weekday]}
                    {...{ bounds, chosen, reached, onDay }}
                    onFocus={setFocused}
                  />
                ))}
              </div>
            ))}
          </div>
        </div>
        <figcaption>
          <Legend bounds={bounds} />
          <span>{count === 1 ? '1 day with activities' : `${formatNumber(count)} days with activities`}</span>
        </figcaption>
      </figure>
      {count > 0 && <Table folded caption={`The months of ${year}`} columns={MONTHS} rows={sums.months} />}
    </Section>
  )
}

/** Returns the weeks of a year, Monday first; days outside the year are undefined. */
function weeksOf(year: number, days: readonly Day[]): Week[] {
  const known = new Map(days.map((one) => [one.day, one]))
  // Date.UTC reads the years 0 to 99 as 1900 to 1999; no activity is that old.
  const [begin, end] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)]
  const monday = begin - ((new Date(begin).getUTCDay() + 6) % 7) * DAY_MS
  return Array.from({ length: Math.ceil((end - monday) / (7 * DAY_MS)) }, (_, week) =>
    WEEKDAYS.map((_name, weekday) => {
      const at = monday + (week * 7 + weekday) * DAY_MS
      if (at < begin || at >= end) return undefined
      const day = formatKey(at)
      return known.get(day) ?? { day, activities: 0, elapsed_s: null, xss: null }
    }),
  )
}

const formatKey = (at: number) => new Date(at).toISOString().slice(0, 10)

/** Computes the lower bounds of levels 2, 3 and 4, so that each level has a quarter of the days with a load. */
function boundsOf(days: readonly Day[]): number[] {
  const known = days.flatMap(({ xss }) => xss ?? []).toSorted((a, b) => a - b)
  return [1, 2, 3].map((quarter) => known[Math.floor((known.length * quarter) / 4)] ?? 0)
}

/** Returns the level of a day: 0 without activities, 1 to 4 by load, undefined if the load is unknown. */
function levelOf({ activities, xss }: Day, bounds: readonly number[]): number | undefined {
  if (activities === 0) return 0
  return xss === null ? undefined : 1 + bounds.filter((bound) => xss >= bound).length
}

type DayProps = {
  day: Day | undefined
  bounds: readonly number[]
  chosen: string | undefined
  reached: string | undefined
  onFocus: (day: string) => void
  onDay: (day: string) => void
}

function DayButton({ day, bounds, chosen, reached, onFocus, onDay }: DayProps) {
  if (!day) return <span role="gridcell" class="outside" />
  const text = describe(day)
  const level = levelOf(day, bounds)
  const ridden = day.activities > 0
  return (
    <div role="gridcell">
      <button
        type="button"
        class={level === undefined ? 'calendar-day unknown' : 'calendar-day'}
        style={{ '--level': level }}
        tabIndex={day.day === reached ? 0 : -1}
        title={text}
        aria-label={text}
        aria-pressed={ridden ? day.day === chosen : undefined}
        aria-disabled={ridden ? undefined : true}
        data-day={day.day}
        onFocus={() => onFocus(day.day)}
        onClick={() => ridden && onDay(day.day)}
      />
    </div>
  )
}

function describe({ day, activities, elapsed_s: s, xss }: Day): string {
  if (activities === 0) return `${formatDay(day)}: none`
  const load = xss === null ? 'load unknown' : formatNumber(xss, 'XSS')
  const time = s === null ? '' : `, ${formatSpan(s)}`
  return `${formatDay(day)}: ${activities === 1 ? '1 activity' : `${activities} activities`}${time}, ${load}`
}

function MonthNames({ weeks }: { weeks: readonly Week[] }) {
  return (
    <div class="months" aria-hidden="true">
      <span class="weekday" />
      {weeks.map((week, index) => {
        const first = week.find((day) => day?.day.endsWith('-01'))
        return <span key={index}>{first && formatDay(first.day, 'month')}</span>
      })}
    </div>
  )
}

function Legend({ bounds }: { bounds: readonly number[] }) {
  const [, middle = 0, high = 0] = bounds
  return (
    <span class="legend" title={`half of the days have more than ${formatNumber(middle)} XSS`}>
      {LEVELS.map((level) => (
        <span key={level} class="calendar-day" style={{ '--level': level }} />
      ))}
      {high > 0 ? `none to over ${formatNumber(high)} XSS per day` : 'load per day'}
    </span>
  )
}
