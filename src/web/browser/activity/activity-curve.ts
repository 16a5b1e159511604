import type { CurvePoint } from '../../../store/dashboard/page-rows.ts'
import type { ActivityView, Serialized } from '../../dashboard/dashboard-types.ts'
import { COMPARED_S, makeDurationAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatDay, formatNumber, formatSpan } from '../format.ts'
import { type Column, makeSection, makeTable } from '../table.ts'

type Point = Serialized<CurvePoint>

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
