import { useMemo } from 'preact/hooks'
import { COMPARED_S } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { makeLine, makePowerSpec } from '../../shared/charts/lanes.ts'
import { formatDay, formatNumber, formatPerKg, formatSpan } from '../../shared/format.ts'
import { Link, Section } from '../../shared/parts.tsx'
import { type Column, numberOf, Table } from '../../shared/table.tsx'
import type { View } from './queries.ts'

type BestPoint = View['best'][number]
/** `kg` is the rider's current weight. */
type Props = { points: View['best']; season: number | null; kg: number | null }

/** The plot of the best mean powers, and a table of the usual durations with their activities. */
export function Bests({ points, season, kg }: Props) {
  const spec = useMemo(
    () =>
      makePowerSpec(`Best mean power by duration: all time, ${season ?? 'season'}, last 90 days`, [
        makeLine('all_time', 'All time', 'W', 'muted'),
        makeLine('season', `Season ${season ?? ''}`, 'W', 'best', { look: 'dashed' }),
        makeLine('recent', 'Last 90 days', 'W', 'power'),
      ]),
    [season],
  )
  const columns = useMemo(
    () => ({
      x: points.map((point) => point.duration_s),
      lines: {
        all_time: points.map((point) => point.all_time?.watts ?? null),
        season: points.map((point) => point.season?.watts ?? null),
        recent: points.map((point) => point.last_90_days?.watts ?? null),
      },
    }),
    [points],
  )
  if (points.length === 0) return null
  return (
    <Section id="best-title" title="Best power">
      <Chart spec={spec} columns={columns}>
        Derived from the samples; pauses count as zero watts.
        {kg ? ` W/kg use the current weight, ${formatNumber(kg, 'kg', 1)}.` : ''}
      </Chart>
      <Table
        caption="Best mean power, with the day of the ride"
        columns={columnsOf(season, kg)}
        rows={points.filter((point) => COMPARED_S.includes(point.duration_s))}
      />
    </Section>
  )
}

function columnsOf(season: number | null, kg: number | null): readonly Column<BestPoint>[] {
  const column = (title: string, of: (point: BestPoint) => BestPoint['all_time']) =>
    numberOf<BestPoint>(title, (point) => <Best best={of(point)} kg={kg} />)
  return [
    { title: 'Duration', names: 'duration_s', cell: (point) => formatSpan(point.duration_s) },
    column('All time', (point) => point.all_time),
    column(`Season ${season ?? ''}`, (point) => point.season),
    column('Last 90 days', (point) => point.last_90_days),
  ]
}

function Best({ best, kg }: { best: BestPoint['all_time']; kg: number | null }) {
  if (best === null) return <>–</>
  return (
    <span>
      {formatNumber(best.watts, 'W')}
      {kg !== null && kg > 0 && <small>{formatPerKg(best.watts, kg)}</small>}
      <small>
        <Link to={`/activities/${best.activity_id}`}>
          {best.day === null ? 'the ride' : formatDay(best.day)}
        </Link>
      </small>
    </span>
  )
}
