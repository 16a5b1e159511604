import type { SignatureColumns } from '../../fitness-views.ts'
import { makeDayAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import type { Lane } from '../charts/spec.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber } from '../format.ts'
import { type Column, makeDetails, makeSection, makeTable } from '../table.ts'
import { lastOfMonths } from './months.ts'
import type { Spans } from './spans.ts'

type Row = { at: number; ftp: number | null; ltp: number | null; hie_kj: number | null; pp: number | null }

const LANES: readonly Lane[] = [
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

const MONTHS: readonly Column<Row>[] = [
  { title: 'Last of the month', names: true, cell: ({ at }) => formatDay(at) },
  { title: 'FTP', number: true, cell: ({ ftp }) => formatNumber(ftp, 'W', 1) },
  { title: 'LTP', number: true, cell: ({ ltp }) => formatNumber(ltp, 'W', 1) },
  { title: 'HIE', number: true, cell: ({ hie_kj }) => formatNumber(hie_kj, 'kJ', 1) },
  { title: 'Peak power', number: true, cell: ({ pp }) => formatNumber(pp, 'W') },
]

/** Makes the plot of the signature over time, and its table. */
export function makeSignature({ at, ftp, ltp, hie_kj, pp }: SignatureColumns, spans: Spans): Child[] {
  if (at.length === 0) return []
  const chart = makeChart(
    {
      label: 'Signature over time: threshold powers, high-intensity energy, peak power',
      x: makeDayAxis(),
      lanes: LANES,
    },
    { x: at, lines: { ftp, ltp, hie_kj, pp } },
  )
  spans.follow('signature', chart, at.at(-1) ?? 0)
  const rows = lastOfMonths(at).map((index) => ({
    at: at[index] ?? 0,
    ftp: ftp[index] ?? null,
    ltp: ltp[index] ?? null,
    hie_kj: hie_kj[index] ?? null,
    pp: pp[index] ?? null,
  }))
  const caption =
    'Threshold power (FTP), lower threshold (LTP), high-intensity energy (HIE; of rides it is derived from the number atc, ' +
    'whose unit the service does not tell) and peak power, after each ride and as told since.'
  return [
    makeSection(
      'signature-title',
      'Signature',
      make('figure', {}, chart.element, make('figcaption', {}, caption)),
      makeDetails(makeTable('As it stood at the end of each month, newest first', MONTHS, rows.toReversed())),
    ),
  ]
}
