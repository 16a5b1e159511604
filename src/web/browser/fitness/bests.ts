import type { Best, BestPoint } from '../../../store/dashboard/page-rows.ts'
import { COMPARED_S, makeDurationAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber, formatSpan } from '../format.ts'
import { type Column, makeSection, makeTable } from '../table.ts'

type Bests = {
  points: readonly BestPoint[]
  season: number | null
  /** the rider's present weight */
  kg: number | null
}

/** Makes the plot of the best mean powers by duration, and a table of the usual durations with when and where. */
export function makeBests({ points, season, kg }: Bests): Child[] {
  if (points.length === 0) return []
  const chart = makeChart(
    {
      label: `Best mean power by duration: all time, ${season ?? 'season'}, last 90 days`,
      x: makeDurationAxis(),
      lanes: [
        {
          unit: 'W',
          height: 280,
          fromZero: true,
          spanGaps: true,
          lines: [
            { key: 'all_time', label: 'All time', unit: 'W', colour: 'muted', look: 'line' },
            { key: 'season', label: `Season ${season ?? ''}`, unit: 'W', colour: 'best', look: 'dashed' },
            { key: 'recent', label: 'Last 90 days', unit: 'W', colour: 'power', look: 'line' },
          ],
        },
      ],
    },
    {
      x: points.map((point) => point.duration_s),
      lines: {
        all_time: points.map((point) => point.all_time?.watts ?? null),
        season: points.map((point) => point.season?.watts ?? null),
        recent: points.map((point) => point.last_90_days?.watts ?? null),
      },
    },
  )
  const compared = points.filter((point) => COMPARED_S.includes(point.duration_s))
  const caption = `Derived from the samples; pauses count as zero watts.${kg ? ` W/kg are by the present weight, ${formatNumber(kg, 'kg', 1)}.` : ''}`
  return [
    makeSection(
      'best-title',
      'Best power',
      make('figure', {}, chart.element, make('figcaption', {}, caption)),
      makeTable('Best mean power, with the day it was ridden', columnsOf(season, kg), compared),
    ),
  ]
}

function columnsOf(season: number | null, kg: number | null): readonly Column<BestPoint>[] {
  const column = (title: string, of: (point: BestPoint) => Best | null): Column<BestPoint> => ({
    title,
    number: true,
    cell: (point) => makeBest(of(point), kg),
  })
  return [
    { title: 'Duration', names: true, cell: (point) => formatSpan(point.duration_s) },
    column('All time', (point) => point.all_time),
    column(`Season ${season ?? ''}`, (point) => point.season),
    column('Last 90 days', (point) => point.last_90_days),
  ]
}

function makeBest(best: Best | null, kg: number | null): Child {
  if (best === null) return '–'
  const day = best.day === null ? 'the ride' : formatDay(best.day)
  return make(
    'span',
    {},
    formatNumber(best.watts, 'W'),
    kg !== null && kg > 0 && make('small', {}, formatNumber(best.watts / kg, 'W/kg', 2)),
    make('small', {}, make('a', { href: `/activities/${best.activity_id}` }, day)),
  )
}
