import type { CalendarView, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber, formatSpan } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import { type CalendarDay, type CalendarMonth, makeMonths, makeWeeksOfYear } from './calendar-grid.ts'

const MONTH = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', month: 'short' })
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

const MONTHS: readonly Column<CalendarMonth>[] = [
  { title: 'Month', names: true, cell: ({ month }) => formatMonth(month) },
  { title: 'Activities', number: true, cell: ({ activities }) => formatNumber(activities) },
  {
    title: 'Time',
    number: true,
    cell: ({ elapsed_s: s }) => (s === null ? '–' : formatNumber(s / 3_600, 'h', 1)),
  },
  { title: 'XSS', number: true, cell: ({ xss }) => formatNumber(xss) },
]

/** Makes the calendar of a year: a square a day, darker with more load, which chooses that day; and a table of its months. */
export function makeCalendar(
  view: Serialized<CalendarView>,
  chosen: { day: string | undefined; onDay: (day: string) => void },
): Child[] {
  const { year, calendar } = view
  if (year === null) return []
  const { weeks, bounds } = makeWeeksOfYear(year, calendar)
  const grid = make('div', {
    class: 'calendar',
    role: 'grid',
    'aria-label': `Days of ${year} by load. Arrow keys move, Enter lists the activities of a day.`,
  })
  // Rows are weekdays, for a reader of the grid as for the eye.
  for (let weekday = 0; weekday < 7; weekday++) {
    const cells = weeks.map((week) => makeDay(week[weekday], chosen.day))
    grid.append(make('div', { role: 'row' }, makeWeekday(weekday), ...cells))
  }
  listenToGrid(grid, weeks.length, chosen.onDay)
  const scroll = make('div', { class: 'year-scroll' }, makeMonthNames(weeks), grid)
  // On a narrow screen the year begins where its last activities are; it has a width once it is in the page.
  requestAnimationFrame(() => {
    const last = weeks.findLastIndex((week) => week.some((day) => day && day.activities > 0))
    scroll.scrollLeft = ((last + 2) / weeks.length) * scroll.scrollWidth - scroll.clientWidth
  })
  return [
    makeSection(
      'calendar-title',
      String(year),
      make(
        'figure',
        { class: 'year' },
        scroll,
        make('figcaption', {}, makeLegend(bounds), make('span', {}, describe(calendar.days.length))),
      ),
      calendar.days.length > 0 &&
        makeDetails(makeTable(`The months of ${year}`, MONTHS, makeMonths(calendar))),
    ),
  ]
}

/** Every second name is seen, so that there is room between them; all are read aloud. */
function makeWeekday(weekday: number): HTMLElement {
  const name = make('span', { class: weekday % 2 === 0 ? undefined : 'hidden' }, WEEKDAYS[weekday])
  return make('span', { role: 'rowheader', class: 'weekday' }, name)
}

function makeDay(day: CalendarDay | undefined, chosen: string | undefined): HTMLElement {
  if (!day) return make('span', { role: 'gridcell', class: 'outside' })
  const load = day.xss === null ? 'load not known' : formatNumber(day.xss, 'XSS')
  const time = day.elapsed_s === null ? '' : `, ${formatSpan(day.elapsed_s)}`
  const activities = day.activities === 1 ? '1 activity' : `${day.activities} activities`
  const text =
    day.activities === 0
      ? `${formatDay(day.day)}: none`
      : `${formatDay(day.day)}: ${activities}${time}, ${load}`
  const cell = make('button', {
    type: 'button',
    class: `calendar-day level-${day.level ?? 'unknown'}`,
    tabindex: -1,
    title: text,
    'aria-label': text,
    'aria-pressed': day.activities > 0 && String(day.day === chosen),
    'aria-disabled': day.activities === 0 && 'true',
    'data-day': day.day,
    id: `day-${day.day}`,
  })
  return make('div', { role: 'gridcell' }, cell)
}

/** One day at a time can be reached by Tab; the arrow keys move from day to day. */
function listenToGrid(grid: HTMLElement, weeks: number, onDay: (day: string) => void): void {
  const days = () => [...grid.querySelectorAll<HTMLButtonElement>('.calendar-day')]
  const first = grid.querySelector<HTMLElement>('[aria-pressed="true"]') ?? lastOf(days())
  if (first) first.tabIndex = 0
  const move = (from: HTMLElement, byDays: number) => {
    const at = new Date(`${from.dataset.day}T00:00:00Z`)
    const target = new Date(at.getTime() + byDays * 86_400_000).toISOString().slice(0, 10)
    const next = grid.querySelector<HTMLElement>(`[data-day="${target}"]`)
    if (!next) return
    from.tabIndex = -1
    next.tabIndex = 0
    next.focus()
  }
  grid.addEventListener('keydown', (event) => {
    const from = event.target
    if (!(from instanceof HTMLElement) || !from.dataset.day) return
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -7,
      ArrowRight: 7,
      ArrowUp: -1,
      ArrowDown: 1,
      PageUp: -28,
      PageDown: 28,
    }
    const step = steps[event.key]
    if (step === undefined || weeks === 0) return
    event.preventDefault()
    move(from, step)
  })
  grid.addEventListener('click', (event) => {
    const day = event.target instanceof HTMLElement ? event.target : undefined
    if (day?.dataset.day && day.ariaDisabled !== 'true') onDay(day.dataset.day)
  })
}

/** Finds the newest day with activities, where the keyboard begins. */
function lastOf(days: readonly HTMLButtonElement[]): HTMLElement | undefined {
  return days.findLast((day) => day.ariaDisabled !== 'true') ?? days[0]
}

function makeMonthNames(weeks: ReadonlyArray<ReadonlyArray<CalendarDay | undefined>>): HTMLElement {
  const names = weeks.map((week) => {
    const first = week.find((day) => day?.day.endsWith('-01'))
    return make('span', {}, first && MONTH.format(new Date(`${first.day}T00:00:00Z`)))
  })
  return make('div', { class: 'months', 'aria-hidden': 'true' }, make('span', { class: 'weekday' }), ...names)
}

function makeLegend(bounds: readonly number[]): HTMLElement {
  const [, middle = 0, high = 0] = bounds
  const squares = [0, 1, 2, 3, 4].map((level) => make('span', { class: `calendar-day level-${level}` }))
  const text = high > 0 ? `none to over ${formatNumber(high)} XSS a day` : 'load of a day'
  return make('span', { class: 'legend', title: `half above ${formatNumber(middle)} XSS` }, ...squares, text)
}

function describe(days: number): string {
  return days === 1 ? '1 day with activities' : `${formatNumber(days)} days with activities`
}

function formatMonth(month: string): string {
  return MONTH.format(new Date(`${month}-01T00:00:00Z`))
}
