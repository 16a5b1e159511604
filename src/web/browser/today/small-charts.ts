import type { AccountToday, Serialized } from '../../dashboard/dashboard-types.ts'
import { make, makeSvg } from '../dom.ts'
import { formatNumber, formatSpan, formatWeekdayLetters } from '../format.ts'

type Today = Serialized<AccountToday>
type Step = NonNullable<Today['workout']>['profile'][number]

/** The size of a drawing in its own units; the style sheet stretches it. */
const WIDTH = 280
const HEIGHT = 80

type Trend = {
  label: string
  /** seconds since 1970, ascending */
  at: readonly number[]
  values: readonly number[]
  /** the least span of the scale, so that a quiet line stays quiet */
  least: number
}

/** Draws values over time as a line; nothing of fewer than two. */
export function makeSparkline({ label, at, values, least }: Trend): SVGElement | null {
  const first = at[0]
  const last = at.at(-1)
  if (first === undefined || last === undefined || last <= first) return null
  const low = Math.min(...values)
  const high = Math.max(...values)
  const span = Math.max(high - low, least)
  const points = at.map((time, index) => {
    const x = ((time - first) / (last - first)) * WIDTH
    const y = HEIGHT - 4 - (((values[index] ?? low) - (high + low - span) / 2) / span) * (HEIGHT - 8)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  const text = `${label}: from ${formatNumber(values[0], '', 1)} to ${formatNumber(values.at(-1), '', 1)}`
  return makeDrawing('sparkline', text, makeSvg('polyline', { points: points.join(' '), class: 'line' }))
}

/** Draws the load of each day of the week as a bar, and the recommended one as a mark. */
export function makeWeekBars(week: Today['week'], today: string): HTMLElement {
  const most = Math.max(1, ...week.flatMap(({ xss, recommended_xss }) => [xss, recommended_xss ?? 0]))
  const column = WIDTH / 7
  const height = (xss: number) => (xss / most) * (HEIGHT - 6)
  const marks = week.flatMap(({ xss, recommended_xss: wanted }, index) => {
    const x = index * column + column * 0.18
    const width = column * 0.64
    const bar = makeSvg('rect', {
      class: 'done',
      x,
      y: HEIGHT - height(xss),
      width,
      height: height(xss),
      rx: 2,
    })
    if (wanted === null) return [bar]
    const y = HEIGHT - height(wanted)
    return [bar, makeSvg('line', { class: 'wanted', x1: x - 3, x2: x + width + 3, y1: y, y2: y })]
  })
  const label =
    'Load of each day of the week, with the recommended load as a mark; the table below has the numbers'
  return make(
    'div',
    { class: 'bars-with-days' },
    makeDrawing('bars', label, ...marks),
    make(
      'div',
      { class: 'days', 'aria-hidden': 'true' },
      ...week.map(({ day }) => make('span', { class: day === today && 'now' }, formatWeekdayLetters(day))),
    ),
  )
}

/** Draws a workout as its power over time, coloured by its share of FTP, with a line at FTP. */
export function makeProfile(steps: readonly Step[], ftp: number | null): SVGElement {
  const length = steps.at(-1)?.to_s ?? 1
  const most = Math.max(ftp ?? 0, ...steps.flatMap((step) => [step.from_watts, step.to_watts])) * 1.05 || 1
  const x = (s: number) => ((s / length) * WIDTH).toFixed(2)
  const y = (watts: number) => (HEIGHT - (watts / most) * HEIGHT).toFixed(2)
  const shapes = steps.map((step) =>
    makeSvg('polygon', {
      class: zoneOf((step.from_watts + step.to_watts) / 2, ftp),
      points: `${x(step.from_s)},${HEIGHT} ${x(step.from_s)},${y(step.from_watts)} ${x(step.to_s)},${y(step.to_watts)} ${x(step.to_s)},${HEIGHT}`,
    }),
  )
  const powers = steps.flatMap((step) => [step.from_watts, step.to_watts])
  const label = `Power over ${formatSpan(length)}, from ${formatNumber(Math.min(...powers))} to ${formatNumber(Math.max(...powers), 'W')}`
  const threshold =
    ftp === null ? [] : [makeSvg('line', { class: 'threshold', x1: 0, x2: WIDTH, y1: y(ftp), y2: y(ftp) })]
  return makeDrawing('profile', label, ...shapes, ...threshold)
}

function zoneOf(watts: number, ftp: number | null): string {
  if (ftp === null || watts < ftp * 0.76) return 'easy'
  return watts < ftp * 1.06 ? 'steady' : 'hard'
}

function makeDrawing(name: string, label: string, ...shapes: readonly SVGElement[]): SVGElement {
  const attributes = {
    class: `drawing ${name}`,
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': label,
  }
  return makeSvg('svg', attributes, ...shapes)
}
