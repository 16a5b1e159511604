import type uPlot from 'uplot'
import { formatDay, formatSpan, formatStopwatch } from '../format.ts'

const DAY_S = 86_400
/** Steps between time labels, s. */
const ELAPSED_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800]
/** The durations that riders compare in a table, s. */
export const COMPARED_S: readonly number[] = [1, 5, 15, 60, 300, 1_200, 3_600]
/** The labelled durations of an axis, s. */
const DURATIONS_S = [1, 5, 15, 60, 300, 1_200, 3_600, 10_800, 21_600, 43_200]

/** The x axis of a chart: its scale, its axes, and how it formats a value. */
export type XAxis = {
  scale: uPlot.Scale
  /** the axes of a lane, lowest first */
  axes: (place: { first: boolean; last: boolean }) => uPlot.Axis[]
  say: (x: number) => string
}

/** The look that every axis shares. */
export function baseAxis(): uPlot.Axis {
  return {
    font: CHART_FONT,
    labelFont: CHART_FONT,
    labelGap: 0,
    stroke: () => colour('muted'),
    grid: { stroke: () => colour('line'), width: 1 },
    ticks: { show: false },
  }
}

/** Minimum space per label, px. A narrow chart uses less space, so that it still shows at least two labels. */
const SPACE: NonNullable<uPlot.Axis['space']> = (_chart, _axis, _min, _max, width) => Math.min(60, width / 4)

/** Returns an axis of the time since the start and, if the time zone is known, an axis of the local time above the chart. */
export function elapsedAxis(clock: { of: (elapsedS: number) => string; zone: string } | undefined): XAxis {
  const shared = { ...baseAxis(), incrs: ELAPSED_STEPS_S, space: SPACE }
  const writeAll = (write: (x: number) => string) => (_chart: unknown, splits: number[]) => splits.map(write)
  const below = (last: boolean): uPlot.Axis => ({
    ...shared,
    size: 28,
    values: writeAll(formatStopwatch),
    ...(last && { label: 'time since the start', labelSize: 20 }),
  })
  const above = (write: (x: number) => string): uPlot.Axis => ({
    ...shared,
    scale: 'x',
    side: 0,
    size: 24,
    grid: { show: false },
    values: (_chart, splits) => onceEach(splits.map(write)),
    label: `local time, ${clock?.zone}`,
    labelSize: 18,
  })
  return {
    scale: { time: false },
    axes: ({ first, last }) => [below(last), ...(first && clock ? [above(clock.of)] : [])],
    say: (x) => (clock ? `${formatStopwatch(x)} (${clock.of(x)})` : formatStopwatch(x)),
  }
}

/** Keeps only the first of equal neighbouring labels, because several splits have the same label if the chart is zoomed in. */
function onceEach(names: readonly string[]): string[] {
  const lead = (index: number) => names[index]?.split('\n')[0]
  return names.map((name, index) => (index > 0 && lead(index) === lead(index - 1) ? '' : name))
}

/** Returns an axis of days, months and years; `x` is seconds since 1970. */
export function dayAxis(): XAxis {
  const yearOf = (x: number | undefined) =>
    x === undefined ? undefined : new Date(x * 1_000).getUTCFullYear()
  // Adds the year below the first label of the axis and of each year.
  const write = (splits: readonly number[], index: number, step: number) => {
    const x = splits[index] ?? 0
    if (step >= 360 * DAY_S) return String(yearOf(x))
    const day = formatDay(x, step < 28 * DAY_S ? 'without year' : 'month')
    return yearOf(x) === yearOf(splits[index - 1]) ? day : `${day}\n${yearOf(x)}`
  }
  return {
    // Shows a single day in the middle of a week, because the library would show three years.
    scale: {
      time: true,
      range: ({ data: [days] }, min, max) =>
        days.length === 1 ? [Number(days[0]) - 3 * DAY_S, Number(days[0]) + 3 * DAY_S] : [min, max],
    },
    axes: ({ last }) => [
      {
        ...baseAxis(),
        space: SPACE,
        size: 42,
        values: (_chart, splits, _axis, _space, step) =>
          onceEach(splits.map((_, index) => write(splits, index, step))),
        ...(last && { label: 'day', labelSize: 20 }),
      },
    ],
    say: formatDay,
  }
}

/** Returns a logarithmic axis of durations from a second to hours. */
export function durationAxis(): XAxis {
  return {
    scale: { time: false, distr: 3 },
    axes: () => [
      {
        ...baseAxis(),
        size: 28,
        splits: (chart) => {
          const { min = 1, max = 1 } = chart.scales.x ?? {}
          const fits = DURATIONS_S.filter((duration) => duration >= (min ?? 1) && duration <= (max ?? 1))
          // A phone has room for only every second label.
          return chart.width < 480 ? fits.filter((_, index) => index % 2 === 0) : fits
        },
        filter: (_chart, splits) => splits,
        values: (_chart, splits) => splits.map(formatSpan),
        label: 'duration',
        labelSize: 20,
      },
    ],
    say: formatSpan,
  }
}

/** The font of text on a canvas: the page's font at its smallest size. */
const CHART_FONT = '12px system-ui, -apple-system, "Segoe UI", sans-serif'

/** Returns the current value of a style sheet colour, light or dark. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
