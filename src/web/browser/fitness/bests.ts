import type { BestPoint } from '../../../store/dashboard/page-rows.ts'
import { COMPARED_S, makeDurationAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatNumber, formatSpan } from '../format.ts'
import { type Column, makeSection, makeTable } from '../table.ts'

const BESTS: readonly Column<BestPoint>[] = [
  { title: 'Duration', names: true, cell: (point) => formatSpan(point.duration_s) },
  { title: 'All time', number: true, cell: (point) => formatNumber(point.all_time, 'W') },
  { title: 'This season', number: true, cell: (point) => formatNumber(point.season, 'W') },
  { title: 'Last 90 days', number: true, cell: (point) => formatNumber(point.last_90_days, 'W') },
]

/** Makes the plot of the best mean powers by duration, and a table of the usual durations. */
export function makeBests(points: readonly BestPoint[]): Child[] {
  if (points.length === 0) return []
  const chart = makeChart(
    {
      label: 'Best mean power by duration: all time, this season, last 90 days',
      x: makeDurationAxis(),
      lanes: [
        {
          unit: 'W',
          height: 280,
          fromZero: true,
          spanGaps: true,
          lines: [
            { key: 'all_time', label: 'All time', unit: 'W', colour: 'muted', look: 'line' },
            { key: 'season', label: 'This season', unit: 'W', colour: 'best', look: 'dashed' },
            { key: 'recent', label: 'Last 90 days', unit: 'W', colour: 'power', look: 'line' },
          ],
        },
      ],
    },
    {
      x: points.map((point) => point.duration_s),
      lines: {
        all_time: points.map((point) => point.all_time),
        season: points.map((point) => point.season),
        recent: points.map((point) => point.last_90_days),
      },
    },
  )
  const compared = points.filter((point) => COMPARED_S.includes(point.duration_s))
  return [
    makeSection(
      'best-title',
      'Best power',
      make(
        'figure',
        {},
        chart.element,
        make('figcaption', {}, 'Derived from the samples; pauses count as zero watts.'),
      ),
      makeTable('Best mean power', BESTS, compared),
    ),
  ]
}
