import type { LoadColumns } from '../../fitness-views.ts'
import { makeDayAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import type { Lane } from '../charts/spec.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import { lastOfMonths } from './months.ts'
import type { Spans } from './spans.ts'

type Row = { at: number; training: number | null; recovery: number | null; form: number | null }

const LANES: readonly Lane[] = [
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

const MONTHS: readonly Column<Row>[] = [
  { title: 'Last of the month', names: true, cell: ({ at }) => formatDay(at) },
  { title: 'Training load', number: true, cell: ({ training }) => formatNumber(training, '', 1) },
  { title: 'Recovery load', number: true, cell: ({ recovery }) => formatNumber(recovery, '', 1) },
  { title: 'Form', number: true, cell: ({ form }) => formatNumber(form, '', 1) },
]

/** Makes the plot of loads and form after each ride, and its table. */
export function makeLoad({ at, training_load, recovery_load, form }: LoadColumns, spans: Spans): Child[] {
  if (at.length === 0) return []
  const chart = makeChart(
    { label: 'Training load, recovery load and form after each ride', x: makeDayAxis(), lanes: LANES },
    { x: at, lines: { training_load, recovery_load, form } },
  )
  spans.follow('load', chart, at.at(-1) ?? 0)
  const last = (column: ReadonlyArray<number | null>) => formatNumber(column.at(-1), '', 1)
  const caption =
    `After the last ride: training load ${last(training_load)}, recovery load ${last(recovery_load)}, form ${last(form)}. ` +
    'The service tells no units of these.'
  const rows = lastOfMonths(at).map((index) => ({
    at: at[index] ?? 0,
    training: training_load[index] ?? null,
    recovery: recovery_load[index] ?? null,
    form: form[index] ?? null,
  }))
  return [
    makeSection(
      'load-title',
      'Load and form',
      make('figure', {}, chart.element, make('figcaption', {}, caption)),
      makeDetails(makeTable('As it stood at the end of each month, newest first', MONTHS, rows.toReversed())),
    ),
  ]
}
