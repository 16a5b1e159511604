import { useMemo } from 'preact/hooks'
import { makeDayAxis } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { type Lane, makeLane, makeLine, type Spec } from '../../shared/charts/lanes.ts'
import { formatDay, formatNumber } from '../../shared/format.ts'
import { Details, Section } from '../../shared/parts.tsx'
import { type Column, Table } from '../../shared/table.tsx'
import type { View } from './queries.ts'
import { type ChosenRange, rangeOfDays } from './range.tsx'

type Week = ReturnType<typeof makeRows>[number]

const WEEK_S = 7 * 86_400
/** The most weeks of the table: two years. */
const WEEKS_SHOWN = 104

const BARS = { look: 'bars' } as const
const SUMS = { unit: 'XSS a week', fromZero: true }
const WEEK_LANES: readonly Lane[] = [
  makeLane(
    200,
    [
      makeLine('low', 'Low', 'XSS', 'low', BARS),
      makeLine('high', 'High', 'XSS', 'high', BARS),
      makeLine('peak', 'Peak', 'XSS', 'peak', BARS),
    ],
    { ...SUMS, stacked: true },
  ),
  makeLane(
    140,
    [
      makeLine('xss', 'Done', 'XSS', 'power', { look: 'area' }),
      makeLine('recommended', 'Recommended', 'XSS', 'mpa', { look: 'dashed' }),
    ],
    { ...SUMS, spanGaps: true },
  ),
  makeLane(120, [makeLine('ramp', 'Ramp', 'load a week', 'best', { digits: 1 })]),
]

const WEEKS: readonly Column<Week>[] = [
  { title: 'Week of', names: true, cell: ({ monday }) => formatDay(monday) },
  { title: 'Activities', number: true, cell: ({ activities }) => formatNumber(activities) },
  { title: 'Low', number: true, cell: ({ low }) => formatNumber(low) },
  { title: 'High', number: true, cell: ({ high }) => formatNumber(high) },
  { title: 'Peak', number: true, cell: ({ peak }) => formatNumber(peak) },
  { title: 'XSS', number: true, cell: ({ xss }) => formatNumber(xss) },
  { title: 'Recommended', number: true, cell: ({ recommended }) => formatNumber(recommended) },
  { title: 'Training load', number: true, cell: ({ load }) => formatNumber(load, '', 1) },
  { title: 'Ramp', number: true, cell: ({ ramp }) => formatNumber(ramp, '', 1) },
]

const SPEC: Spec = { label: 'Training load score of each week', x: makeDayAxis(), lanes: WEEK_LANES }

/** The plots of weekly load, load against recommendation, and ramp of training load; and their table. */
export function Weeks({ columns, range }: { columns: View['weeks']; range: ChosenRange }) {
  const { monday } = columns
  const rows = useMemo(() => makeRows(columns), [columns])
  // A bar covers its week, so the axis includes the end of the last one.
  const end = (monday.at(-1) ?? 0) + WEEK_S
  const plotted = useMemo(() => {
    const line = (of: (week: Week) => number | null) => [...rows.map(of), null]
    return {
      x: [...monday, end],
      lines: {
        low: line(({ low }) => low),
        high: line(({ high }) => high),
        peak: line(({ peak }) => peak),
        xss: line(({ xss }) => xss),
        recommended: line(({ recommended }) => recommended),
        ramp: line(({ ramp }) => ramp),
      },
    }
  }, [rows])
  const shown = useMemo(() => rangeOfDays(range, end), [range, end])
  if (monday.length === 0) return null
  return (
    <Section id="weeks-title" title="Weeks">
      <figure>
        <Chart spec={SPEC} columns={plotted} range={shown} />
        <figcaption>
          Sums of the activities’ training load scores (XSS) by the week of their own local day, and what the
          service recommended for the seven days, of all sports, known since the first training info. Ramp:
          how much training load rose or fell from week to week.
        </figcaption>
      </figure>
      <Details>
        <Table caption="Newest week first" columns={WEEKS} rows={rows.toReversed().slice(0, WEEKS_SHOWN)} />
      </Details>
    </Section>
  )
}

/** Makes a row for each week; the ramp needs the load of both weeks. */
function makeRows(columns: View['weeks']) {
  return columns.monday.map((monday, index) => {
    const load = columns.training_load[index] ?? null
    const before = columns.training_load[index - 1] ?? null
    return {
      monday,
      activities: columns.activities[index] ?? 0,
      low: columns.low_xss[index] ?? 0,
      high: columns.high_xss[index] ?? 0,
      peak: columns.peak_xss[index] ?? 0,
      xss: columns.xss[index] ?? 0,
      recommended: columns.recommended_xss[index] ?? null,
      load,
      ramp: load === null || before === null ? null : load - before,
    }
  })
}
