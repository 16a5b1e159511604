import { useMemo } from 'preact/hooks'
import { dayAxis } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { type Lane, makeLane, makeLine } from '../../shared/charts/lanes.ts'
import { formatDay, formatNumber, lastOfMonths } from '../../shared/format.ts'
import { Section } from '../../shared/parts.tsx'
import { type Column, Table } from '../../shared/table.tsx'
import type { View } from './queries.ts'
import { type ChosenRange, rangeOfDays } from './range.tsx'

const TENTHS = { digits: 1 }
const DASHED = { look: 'dashed', digits: 1 } as const
const SPANNED = { spanGaps: true }
const SIGNATURE = {
  title: 'Signature',
  label: 'Signature over time: threshold powers, high-intensity energy, peak power',
  lanes: [
    makeLane(
      220,
      [makeLine('ftp', 'FTP', 'W', 'power', TENTHS), makeLine('ltp', 'LTP', 'W', 'best', DASHED)],
      SPANNED,
    ),
    makeLane(140, [makeLine('hie_kj', 'HIE', 'kJ', 'mpa', TENTHS)], SPANNED),
    makeLane(150, [makeLine('pp', 'Peak power', 'W', 'heart')], SPANNED),
  ],
  caption:
    'Threshold power (FTP), lower threshold (LTP), high-intensity energy (HIE; of rides it is derived from the number atc, ' +
    'whose unit the service does not give) and peak power, after each ride and in the training info since.',
}

/** The plot of the signature over time, and its table. */
export function Signature({ columns, range }: { columns: View['signature']; range: ChosenRange }) {
  return <History id="signature" {...SIGNATURE} columns={columns} range={range} />
}

const LOAD = {
  title: 'Load and form',
  label: 'Training load, recovery load and form day by day',
  lanes: [
    makeLane(220, [
      makeLine('training_load', 'Training load', '', 'power', TENTHS),
      makeLine('recovery_load', 'Recovery load', '', 'mpa', DASHED),
    ]),
    makeLane(150, [makeLine('form', 'Form', '', 'best', TENTHS)]),
  ],
}

/** The plot of the daily loads and form, and its table. */
export function Load({ columns, range }: { columns: View['load']; range: ChosenRange }) {
  const last = (column: ReadonlyArray<number | null>) => {
    const known = column.findLast((value) => value !== null)
    return formatNumber(known, '', 1)
  }
  const caption =
    `Last told: training load ${last(columns.training_load)}, recovery load ${last(columns.recovery_load)}, ` +
    `form ${last(columns.form)}, in no unit. The service tells them with each activity, the training load also between; the other days are a ` +
    'straight line from one to the next, derived.'
  return <History id="load" {...LOAD} caption={caption} columns={columns} range={range} />
}

type Month = { at: number; values: Readonly<Record<string, number | null>> }
type Props = {
  id: string
  title: string
  label: string
  lanes: readonly Lane[]
  caption: string
  columns: { at: readonly number[] } & Readonly<Record<string, ReadonlyArray<number | null>>>
  range: ChosenRange
}

/** A section with a plot by days and a table of each month's last values. */
function History({ id, title, label, lanes, caption, columns: { at, ...lines }, range }: Props) {
  const spec = useMemo(() => ({ label, x: dayAxis(), lanes }), [label, lanes])
  const columns = useMemo(() => ({ x: at, lines }), [at])
  const shown = useMemo(() => rangeOfDays(range, at.at(-1) ?? 0), [range, at])
  if (at.length === 0) return null
  const months: Month[] = lastOfMonths(at).map((index) => ({
    at: at[index] ?? 0,
    values: Object.fromEntries(Object.entries(lines).map(([key, values]) => [key, values[index] ?? null])),
  }))
  return (
    <Section id={`${id}-title`} title={title}>
      <Chart spec={spec} columns={columns} range={shown}>
        {caption}
      </Chart>
      <Table
        folded
        caption="As it stood at the end of each month, newest first"
        columns={columnsOf(lanes)}
        rows={months.toReversed()}
      />
    </Section>
  )
}

function columnsOf(lanes: readonly Lane[]): readonly Column<Month>[] {
  return [
    { title: 'Last of the month', names: 'at', cell: (month) => formatDay(month.at) },
    ...lanes.flatMap((lane) =>
      lane.lines.map(({ label, key, unit, digits }) => ({
        title: label,
        number: true,
        cell: ({ values }: Month) => formatNumber(values[key], unit, digits),
      })),
    ),
  ]
}
