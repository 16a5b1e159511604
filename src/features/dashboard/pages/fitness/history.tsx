import { useMemo } from 'preact/hooks'
import { dayAxis } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { type Lane, type Line, makeLane, makeLine } from '../../shared/charts/lanes.ts'
import { formatDay, formatNumber, lastOfMonths, note } from '../../shared/format.ts'
import { Section } from '../../shared/parts.tsx'
import { type Column, numberOf, Table } from '../../shared/table.tsx'
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
    'Threshold power (FTP), lower threshold (LTP), high-intensity energy (HIE; for rides derived from the service’s atc, read as J) ' +
    'and peak power, after each ride and from the training info since.',
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
      makeLine('training_ahead', 'Training load as planned', '', 'power', DASHED),
    ]),
    makeLane(150, [
      makeLine('form', 'Form', '', 'best', TENTHS),
      makeLine('form_ahead', 'Form as planned', '', 'best', DASHED),
      makeLine('form_rest', 'Form with rest', '', 'heart', DASHED),
    ]),
  ],
}

/** The plot of the daily loads and form, and its table. */
export function Load({ load, range }: { load: View['load']; range: ChosenRange }) {
  const { columns, days_ahead: ahead, is_derived: isDerived, reason } = load
  const last = (column: ReadonlyArray<number | null>) => {
    const known = column.findLast((value) => value !== null)
    return formatNumber(known, '', 1)
  }
  const how = isDerived
    ? 'Derived for the end of each day: the service’s values after the last ride, which decay by constants fitted to your rides. Coming ' +
      'days: with rest, and as planned, which assumes the load that the service recommends for today every day.'
    : 'The service reports these values with each activity, and the training load also between activities; other days are interpolated ' +
      'linearly.'
  const caption =
    `Last known: training load ${last(columns.training_load)}, recovery load ${last(columns.recovery_load)}, ` +
    `form ${last(columns.form)}, without units. ${note`Today is unknown: ${reason ?? ''}. `}${how}`
  return <History id="load" {...LOAD} caption={caption} columns={columns} range={range} ahead={ahead} />
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
  /** number of days at the end that are in the future */
  ahead?: number
}

/** A section with a plot of days and a table of each month's last values. */
function History(props: Props) {
  const { id, title, label, lanes, caption, range, ahead = 0 } = props
  const { at, ...lines } = props.columns
  const spec = useMemo(() => {
    const isShown = ({ key }: Line) => key in lines
    return {
      ...{ label, x: dayAxis() },
      lanes: lanes.map((lane) => ({ ...lane, lines: lane.lines.filter(isShown) })),
    }
  }, [label, lanes, Object.keys(lines).length])
  const columns = useMemo(() => ({ x: at, lines }), [at])
  const past = ahead === 0 ? at : at.slice(0, -ahead)
  const shown = useMemo(() => {
    const days = rangeOfDays(range, past.at(-1) ?? 0)
    return days && range.season === undefined ? { ...days, max: at.at(-1) ?? 0 } : days
  }, [range, at])
  if (at.length === 0) return null
  const months: Month[] = lastOfMonths(past).map((index) => ({
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
        caption="Values at the end of each month, newest first"
        columns={columnsOf(lanes)}
        rows={months.toReversed()}
      />
    </Section>
  )
}

/** Returns the columns of the table, without the coming days' lines. */
function columnsOf(lanes: readonly Lane[]): readonly Column<Month>[] {
  return [
    { title: 'Last of the month', names: 'at', cell: (month) => formatDay(month.at) },
    ...lanes.flatMap((lane) =>
      lane.lines
        .filter(({ key }) => !/_(ahead|rest)$/.test(key))
        .map(({ label, key, unit, digits }) =>
          numberOf(label, ({ values }: Month) => formatNumber(values[key], unit, digits)),
        ),
    ),
  ]
}
