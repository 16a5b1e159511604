import { useMemo } from 'preact/hooks'
import { dayAxis } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { type Lane, makeLane, makeLine, type Spec } from '../../shared/charts/lanes.ts'
import { formatDay, formatNumber } from '../../shared/format.ts'
import { Section } from '../../shared/parts.tsx'
import { type Column, numberOf, Table } from '../../shared/table.tsx'
import type { View } from './queries.ts'
import { type ChosenRange, rangeOfDays } from './range.tsx'

type Week = View['weeks'][number]

const WEEK_S = 7 * 86_400
/** Maximum number of weeks in the table: two years. */
const MAX_WEEKS = 104

const bar = (key: string, label: string) => makeLine(key, label, 'XSS', key, { look: 'bars' })
const SUMS = { unit: 'XSS per week', fromZero: true }
const WEEK_LANES: readonly Lane[] = [
  makeLane(200, [bar('low', 'Low'), bar('high', 'High'), bar('peak', 'Peak')], { ...SUMS, stacked: true }),
  makeLane(
    140,
    [
      makeLine('xss', 'Done', 'XSS', 'power', { look: 'area' }),
      makeLine('recommended', 'Recommended', 'XSS', 'mpa', { look: 'dashed' }),
    ],
    { ...SUMS, spanGaps: true },
  ),
  makeLane(120, [makeLine('ramp', 'Ramp', 'load per week', 'best', { digits: 1 })]),
]

const WEEKS: readonly Column<Week>[] = [
  { title: 'Week of', names: 'monday', cell: ({ monday }) => formatDay(monday) },
  numberOf('Activities', ({ activities }) => formatNumber(activities)),
  numberOf('Low', ({ low }) => formatNumber(low)),
  numberOf('High', ({ high }) => formatNumber(high)),
  numberOf('Peak', ({ peak }) => formatNumber(peak)),
  numberOf('XSS', ({ xss }) => formatNumber(xss)),
  numberOf('Recommended', ({ recommended }) => formatNumber(recommended)),
  numberOf('Training load', ({ load }) => formatNumber(load, '', 1)),
  numberOf('Ramp', ({ ramp }) => formatNumber(ramp, '', 1)),
]

const SPEC: Spec = { label: 'Training load score of each week', x: dayAxis(), lanes: WEEK_LANES }

const PLOTTED = ['low', 'high', 'peak', 'xss', 'recommended', 'ramp'] as const

/** The plots of the weekly load, of the load compared with the recommendation, and of the training load's ramp, with a table. */
export function Weeks({ weeks, range }: { weeks: View['weeks']; range: ChosenRange }) {
  // A bar covers its week, so the axis includes the end of the last week.
  const end = (weeks.at(-1)?.monday ?? 0) + WEEK_S
  const columns = useMemo(
    () => ({
      x: [...weeks.map(({ monday }) => monday), end],
      lines: Object.fromEntries(PLOTTED.map((name) => [name, [...weeks.map((week) => week[name]), null]])),
    }),
    [weeks],
  )
  const shown = useMemo(() => rangeOfDays(range, end), [range, end])
  if (weeks.length === 0) return null
  return (
    <Section id="weeks-title" title="Weeks">
      <Chart spec={SPEC} columns={columns} range={shown}>
        Training load scores (XSS) of the activities, summed by local week, and the load that the service
        recommended for the week, for all sports, since the first training info. Ramp is the change of the
        training load from week to week.
      </Chart>
      <Table
        folded
        caption="Newest week first"
        columns={WEEKS}
        rows={weeks.toReversed().slice(0, MAX_WEEKS)}
      />
    </Section>
  )
}
