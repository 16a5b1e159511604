import type { WeekColumns } from '../../fitness-views.ts'
import { makeDayAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import type { Lane } from '../charts/spec.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import type { Spans } from './spans.ts'

type Week = { monday: number; activities: number; low: number; high: number; peak: number; xss: number }

const WEEK_S = 7 * 86_400
/** Two years of weeks are a long table already. */
const WEEKS_SHOWN = 104

const LANES: readonly Lane[] = [
  {
    unit: 'XSS a week',
    height: 200,
    fromZero: true,
    stacked: true,
    lines: [
      { key: 'low', label: 'Low', unit: 'XSS', colour: 'low', look: 'bars' },
      { key: 'high', label: 'High', unit: 'XSS', colour: 'high', look: 'bars' },
      { key: 'peak', label: 'Peak', unit: 'XSS', colour: 'peak', look: 'bars' },
    ],
  },
]

const WEEKS: readonly Column<Week>[] = [
  { title: 'Week of', names: true, cell: ({ monday }) => formatDay(monday) },
  { title: 'Activities', number: true, cell: ({ activities }) => formatNumber(activities) },
  { title: 'Low', number: true, cell: ({ low }) => formatNumber(low) },
  { title: 'High', number: true, cell: ({ high }) => formatNumber(high) },
  { title: 'Peak', number: true, cell: ({ peak }) => formatNumber(peak) },
  { title: 'XSS', number: true, cell: ({ xss }) => formatNumber(xss) },
]

/** Makes the plot of the weeks' training load scores, and its table. */
export function makeWeeks(
  { monday, activities, low_xss: low, high_xss: high, peak_xss: peak, xss }: WeekColumns,
  spans: Spans,
): Child[] {
  if (monday.length === 0) return []
  // A bar stands on the days of its week, so the axis goes on to the end of the last one.
  const end = (monday.at(-1) ?? 0) + WEEK_S
  const chart = makeChart(
    { label: 'Training load score of each week', x: makeDayAxis(), lanes: LANES },
    { x: [...monday, end], lines: { low: [...low, null], high: [...high, null], peak: [...peak, null] } },
  )
  spans.follow('weeks', chart, end)
  const rows = monday.map((day, index) => ({
    monday: day,
    activities: activities[index] ?? 0,
    low: low[index] ?? 0,
    high: high[index] ?? 0,
    peak: peak[index] ?? 0,
    xss: xss[index] ?? 0,
  }))
  const caption = 'Sums of the activities’ training load scores (XSS) by the week of their own local day.'
  return [
    makeSection(
      'weeks-title',
      'Weeks',
      make('figure', {}, chart.element, make('figcaption', {}, caption)),
      makeDetails(makeTable('Newest week first', WEEKS, rows.toReversed().slice(0, WEEKS_SHOWN))),
    ),
  ]
}
