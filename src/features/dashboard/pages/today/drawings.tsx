import type { ComponentChildren } from 'preact'
import { formatDay, formatNumber, formatSpan } from '../../shared/format.ts'
import type { View } from './queries.ts'

type Today = NonNullable<View['today']>
type Step = NonNullable<Today['workout']>['profile'][number]

/** The size of a drawing in SVG units; the style sheet scales it. */
const WIDTH = 280
const HEIGHT = 80

function Drawing({ name, label, children }: { name: string; label: string; children: ComponentChildren }) {
  return (
    <svg
      class={`drawing ${name}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {children}
    </svg>
  )
}

/** Minimum span of a y scale, so that small changes look small. */
const MIN_SPAN = 10

/** A line of values over time; nothing if there are fewer than two. */
export function Sparkline({ label, points }: { label: string; points: Today['form_trend'] }) {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last || last.at <= first.at) return null
  const values = points.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const span = Math.max(high - low, MIN_SPAN)
  const line = points.map(({ at, value }) => {
    const x = ((at - first.at) / (last.at - first.at)) * WIDTH
    const y = HEIGHT - 4 - ((value - (high + low - span) / 2) / span) * (HEIGHT - 8)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  const range = `from ${formatNumber(first.value, '', 1)} to ${formatNumber(last.value, '', 1)}`
  return (
    <Drawing name="sparkline" label={`${label}: ${range}`}>
      <polyline points={line.join(' ')} class="line" />
    </Drawing>
  )
}

/** A bar for the load of each weekday, and a mark for the recommended load. */
export function WeekBars({ week, today }: { week: Today['week']; today: string }) {
  const most = Math.max(1, ...week.flatMap(({ xss, recommended_xss }) => [xss, recommended_xss ?? 0]))
  const column = WIDTH / 7
  const height = (xss: number) => (xss / most) * (HEIGHT - 6)
  const width = column * 0.64
  return (
    <div class="bars-with-days">
      <Drawing
        name="bars"
        label="Load of each day of the week, with the recommended load as a mark; the table below has the numbers"
      >
        {week.map(({ day, xss, recommended_xss: wanted }, index) => {
          const x = index * column + column * 0.18
          const y = HEIGHT - height(wanted ?? 0)
          return (
            <g key={day}>
              <rect class="done" x={x} y={HEIGHT - height(xss)} width={width} height={height(xss)} rx={2} />
              {wanted !== null && <line class="wanted" x1={x - 3} x2={x + width + 3} y1={y} y2={y} />}
            </g>
          )
        })}
      </Drawing>
      <div class="days" aria-hidden="true">
        {week.map(({ day }) => (
          <span key={day} class={day === today ? 'now' : undefined}>
            {formatDay(day, 'weekday')}
          </span>
        ))}
      </div>
    </div>
  )
}

/** The power of a workout over time, coloured by the share of FTP, with a line at FTP. */
export function Profile({ steps, ftp }: { steps: readonly Step[]; ftp: number | null }) {
  const length = steps.at(-1)?.to_s ?? 1
  const powers = steps.flatMap((step) => [step.from_watts, step.to_watts])
  const most = Math.max(ftp ?? 0, ...powers) * 1.05 || 1
  const x = (s: number) => ((s / length) * WIDTH).toFixed(2)
  const y = (watts: number) => (HEIGHT - (watts / most) * HEIGHT).toFixed(2)
  const range = `from ${formatNumber(Math.min(...powers))} to ${formatNumber(Math.max(...powers), 'W')}`
  return (
    <Drawing name="profile" label={`Power over ${formatSpan(length)}, ${range}`}>
      {steps.map(({ from_s: from, to_s: to, from_watts: begin, to_watts: end }) => (
        <polygon
          key={from}
          class={zoneOf((begin + end) / 2, ftp)}
          points={`${x(from)},${HEIGHT} ${x(from)},${y(begin)} ${x(to)},${y(end)} ${x(to)},${HEIGHT}`}
        />
      ))}
      {ftp !== null && <line class="threshold" x1={0} x2={WIDTH} y1={y(ftp)} y2={y(ftp)} />}
    </Drawing>
  )
}

function zoneOf(watts: number, ftp: number | null): string {
  if (ftp === null || watts < ftp * 0.76) return 'easy'
  return watts < ftp * 1.06 ? 'steady' : 'hard'
}
