import type { LoadColumns, SignatureColumns } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { makeDayAxis } from '../charts/axes.ts'
import { type Lane, makeChart } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber, lastOfMonths } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import type { Spans } from './spans.ts'

const SIGNATURE: readonly Lane[] = [
  {
    unit: 'W',
    height: 220,
    spanGaps: true,
    lines: [
      { key: 'ftp', label: 'FTP', unit: 'W', colour: 'power', look: 'line', digits: 1 },
      { key: 'ltp', label: 'LTP', unit: 'W', colour: 'best', look: 'dashed', digits: 1 },
    ],
  },
  {
    unit: 'kJ',
    height: 140,
    spanGaps: true,
    lines: [{ key: 'hie_kj', label: 'HIE', unit: 'kJ', colour: 'mpa', look: 'line', digits: 1 }],
  },
  {
    unit: 'W',
    height: 150,
    spanGaps: true,
    lines: [{ key: 'pp', label: 'Peak power', unit: 'W', colour: 'heart', look: 'line' }],
  },
]

/** Makes the plot of the signature over time, and its table. */
export function makeSignature({ at, ...lines }: Serialized<SignatureColumns>, spans: Spans): Child[] {
  return makeHistory(
    {
      id: 'signature',
      title: 'Signature',
      label: 'Signature over time: threshold powers, high-intensity energy, peak power',
      lanes: SIGNATURE,
      caption:
        'Threshold power (FTP), lower threshold (LTP), high-intensity energy (HIE; of rides it is derived from the number atc, ' +
        'whose unit the service does not give) and peak power, after each ride and in the training info since.',
    },
    { at, lines },
    spans,
  )
}

const LOAD: readonly Lane[] = [
  {
    unit: 'load',
    height: 220,
    spanGaps: true,
    lines: [
      { key: 'training_load', label: 'Training load', unit: '', colour: 'power', look: 'line', digits: 1 },
      { key: 'recovery_load', label: 'Recovery load', unit: '', colour: 'mpa', look: 'dashed', digits: 1 },
    ],
  },
  {
    unit: 'form',
    height: 150,
    spanGaps: true,
    lines: [{ key: 'form', label: 'Form', unit: '', colour: 'best', look: 'line', digits: 1 }],
  },
]

/** Makes the plot of loads and form after each activity, and its table. */
export function makeLoad({ at, ...lines }: Serialized<LoadColumns>, spans: Spans): Child[] {
  const last = (column: ReadonlyArray<number | null>) => formatNumber(column.at(-1), '', 1)
  return makeHistory(
    {
      id: 'load',
      title: 'Load and form',
      label: 'Training load, recovery load and form after each ride',
      lanes: LOAD,
      caption:
        `After the last ride: training load ${last(lines.training_load)}, recovery load ${last(lines.recovery_load)}, ` +
        `form ${last(lines.form)}. The service gives no units of these.`,
    },
    { at, lines },
    spans,
  )
}

type Month = { at: number; values: Readonly<Record<string, number | null>> }

/** Makes a section of a plot by days and of a table with the last values of each month, a column a line. */
function makeHistory(
  input: { id: string; title: string; label: string; lanes: readonly Lane[]; caption: string },
  { at, lines }: { at: readonly number[]; lines: Readonly<Record<string, ReadonlyArray<number | null>>> },
  spans: Spans,
): Child[] {
  const { id, title, label, lanes, caption } = input
  if (at.length === 0) return []
  const chart = makeChart({ label, x: makeDayAxis(), lanes }, { x: at, lines })
  spans.follow(id, chart, at.at(-1) ?? 0)
  const months: Month[] = lastOfMonths(at).map((index) => ({
    at: at[index] ?? 0,
    values: Object.fromEntries(Object.entries(lines).map(([key, values]) => [key, values[index] ?? null])),
  }))
  const columns: readonly Column<Month>[] = [
    { title: 'Last of the month', names: true, cell: (month) => formatDay(month.at) },
    ...lanes.flatMap((lane) =>
      lane.lines.map(({ label: name, key, unit, digits }) => ({
        title: name,
        number: true,
        cell: ({ values }: Month) => formatNumber(values[key], unit, digits),
      })),
    ),
  ]
  return [
    makeSection(
      `${id}-title`,
      title,
      make('figure', {}, chart.element, make('figcaption', {}, caption)),
      makeDetails(
        makeTable('As it stood at the end of each month, newest first', columns, months.toReversed()),
      ),
    ),
  ]
}
