import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatDay, formatNumber, formatSpan } from '../../shared/format.ts'
import { Details, Section } from '../../shared/parts.tsx'
import { type Column, Table } from '../../shared/table.tsx'
import {
  type CalendarColumns,
  type CalendarDay,
  type CalendarMonth,
  makeMonths,
  makeWeeksOfYear,
} from './calendar-grid.ts'

const MONTH = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', month: 'short' })
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const DAY_MS = 86_400_000
/** How many days each key moves. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -7,
  ArrowRight: 7,
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -28,
  PageDown: 28,
}

const MONTHS: readonly Column<CalendarMonth>[] = [
  { title: 'Month', names: true, cell: ({ month }) => formatMonth(`${month}-01`) },
  { title: 'Activities', number: true, cell: ({ activities }) => formatNumber(activities) },
  {
    title: 'Time',
    number: true,
    cell: ({ elapsed_s: s }) => (s === null ? '–' : formatNumber(s / 3_600, 'h', 1)),
  },
  { title: 'XSS', number: true, cell: ({ xss }) => formatNumber(xss) },
]

type Props = {
  year: number
  columns: CalendarColumns
  /** the chosen day */
  chosen: string | undefined
  onDay: (day: string) => void
}

/** The calendar of a year: a square for each day, darker with more load, which selects the day; and a table of the months. */
export function Calendar({ year, columns, chosen, onDay }: Props) {
  const { weeks, bounds } = useMemo(() => makeWeeksOfYear(year, columns), [year, columns])
  const grid = useRef<HTMLDivElement>(null)
  const scroll = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState<string>()
  const days = weeks.flat().filter((day) => day !== undefined)
  const known = (day: string | undefined) => days.some((one) => one.day === day)
  // Tab reaches one day: the last one of the arrow keys, else the selected one, else the newest with activities.
  const newest = days.findLast(({ activities }) => activities > 0) ?? days[0]
  const reached = [focused, chosen, newest?.day].find(known)
  useLayoutEffect(() => {
    // A narrow screen starts at the last activities.
    const last = weeks.findLastIndex((week) => week.some((day) => day && day.activities > 0))
    const { current: view } = scroll
    if (view) view.scrollLeft = ((last + 2) / weeks.length) * view.scrollWidth - view.clientWidth
  }, [weeks])
  const onKey = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    if (step === undefined || reached === undefined) return
    event.preventDefault()
    const target = new Date(Date.parse(`${reached}T00:00:00Z`) + step * DAY_MS).toISOString().slice(0, 10)
    if (!known(target)) return
    setFocused(target)
    grid.current?.querySelector<HTMLElement>(`[data-day="${target}"]`)?.focus()
  }
  const count = columns.days.length
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
              // Rows are weekdays for a screen reader too.
              <div key={name} role="row">
                <span role="rowheader" class="weekday">
                  {/* For lack of room every second name is shown; all are read aloud. */}
                  <span class={weekday % 2 === 0 ? undefined : 'hidden'}>{name}</span>
                </span>
                {weeks.map((week, index) => (
                  <Day
                    key={index}
                    day={week[weekday]}
                    chosen={chosen}
                    reached={reached}
                    onFocus={setFocused}
                    onDay={onDay}
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
      {count > 0 && (
        <Details>
          <Table caption={`The months of ${year}`} columns={MONTHS} rows={makeMonths(columns)} />
        </Details>
      )}
    </Section>
  )
}

type DayProps = {
  day: CalendarDay | undefined
  chosen: string | undefined
  reached: string | undefined
  onFocus: (day: string) => void
  onDay: (day: string) => void
}

function Day({ day, chosen, reached, onFocus, onDay }: DayProps) {
  if (!day) return <span role="gridcell" class="outside" />
  const text = describe(day)
  const ridden = day.activities > 0
  return (
    <div role="gridcell">
      <button
        type="button"
        class={day.level === undefined ? 'calendar-day unknown' : 'calendar-day'}
        style={{ '--level': day.level }}
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

function describe({ day, activities, elapsed_s: s, xss }: CalendarDay): string {
  if (activities === 0) return `${formatDay(day)}: none`
  const load = xss === null ? 'load not known' : formatNumber(xss, 'XSS')
  const time = s === null ? '' : `, ${formatSpan(s)}`
  return `${formatDay(day)}: ${activities === 1 ? '1 activity' : `${activities} activities`}${time}, ${load}`
}

function MonthNames({ weeks }: { weeks: ReadonlyArray<ReadonlyArray<CalendarDay | undefined>> }) {
  return (
    <div class="months" aria-hidden="true">
      <span class="weekday" />
      {weeks.map((week, index) => {
        const first = week.find((day) => day?.day.endsWith('-01'))
        return <span key={index}>{first && formatMonth(first.day)}</span>
      })}
    </div>
  )
}

function Legend({ bounds }: { bounds: readonly number[] }) {
  const [, middle = 0, high = 0] = bounds
  return (
    <span class="legend" title={`half above ${formatNumber(middle)} XSS`}>
      {[0, 1, 2, 3, 4].map((level) => (
        <span key={level} class="calendar-day" style={{ '--level': level }} />
      ))}
      {high > 0 ? `none to over ${formatNumber(high)} XSS a day` : 'load of a day'}
    </span>
  )
}

/** Writes the month of a day, `2026-11-18`. */
function formatMonth(day: string): string {
  return MONTH.format(new Date(`${day}T00:00:00Z`))
}
