import type { BestPoint, CurvePoint } from '../../store/dashboard/page-rows.ts'
import type { ActivityView, Serialized } from '../dashboard-types.ts'
import { makeDurationAxis } from './charts/axes.ts'
import { makeChart } from './charts/chart.ts'
import { type Child, make } from './dom.ts'
import { formatDay, formatNumber, formatSpan } from './format.ts'
import { type Column, makeSection, makeTable } from './table.ts'

type Point = Serialized<CurvePoint>

/** The durations that riders compare, s. */
const COMPARED_S: readonly number[] = [1, 5, 15, 60, 300, 1_200, 3_600]

/** Makes an activity's power curve beside the best of its season, and a table of the usual durations. */
export function makeActivityCurve(view: Serialized<ActivityView>): Child[] {
  const { curve, season, facts } = view
  if (!curve.some((point) => point.watts !== null)) return []
  const chart = makeChart(
    {
      label: 'Power curve of this ride and the best of the season, by duration',
      x: makeDurationAxis(),
      lanes: [
        {
          unit: 'W',
          height: 280,
          fromZero: true,
          spanGaps: true,
          lines: [
            {
              key: 'best',
              label: `Best of ${season ?? 'its season'}`,
              unit: 'W',
              colour: 'best',
              look: 'dashed',
            },
            { key: 'activity', label: 'This ride', unit: 'W', colour: 'power', look: 'line' },
          ],
        },
      ],
    },
    {
      x: curve.map((point) => point.duration_s),
      lines: { best: curve.map((point) => point.best_watts), activity: curve.map((point) => point.watts) },
    },
  )
  const compared = curve.filter((point) => COMPARED_S.includes(point.duration_s) && point.watts !== null)
  return [
    makeSection(
      'curve-title',
      'Power curve',
      make('figure', {}, chart.element, make('figcaption', {}, describe(compared, season))),
      makeTable('Best mean power; pauses count as zero watts', columnsFor(facts.activity_id), compared),
    ),
  ]
}

function columnsFor(activityId: number): readonly Column<Point>[] {
  return [
    { title: 'Duration', names: true, cell: (point) => formatSpan(point.duration_s) },
    { title: 'This ride', number: true, cell: (point) => formatNumber(point.watts, 'W') },
    { title: 'Season’s best', number: true, cell: (point) => formatNumber(point.best_watts, 'W') },
    { title: 'Share', number: true, cell: (point) => formatNumber(shareOf(point), '%') },
    {
      title: 'Ridden on',
      wide: true,
      cell({ best_activity_id: id, best_day: day }) {
        if (id === null || day === null) return ''
        return id === activityId ? 'this ride' : make('a', { href: `/activities/${id}` }, formatDay(day))
      },
    },
  ]
}

function describe(compared: readonly Point[], season: number | null): string {
  const bests = compared
    .filter((point) => (shareOf(point) ?? 0) >= 100)
    .map((point) => formatSpan(point.duration_s))
  if (bests.length === 0) return `No best of ${season ?? 'the season'} at the durations below.`
  return `The best of ${season ?? 'the season'} over ${bests.join(', ')}.`
}

function shareOf({ watts, best_watts: best }: Point): number | null {
  // Rounded down: a watt short of the best is not the best.
  return watts === null || best === null || best === 0 ? null : Math.floor((watts / best) * 100)
}

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
