import uPlot from 'uplot'
import { formatNumber } from '../format.ts'
import { baseAxis, colour, durationAxis, type XAxis } from './axes.ts'

/** A quantity in a chart. `colour` names a custom property of the style sheet, whose value differs between light and dark. */
export type Line = {
  key: string
  label: string
  unit: string
  colour: string
  look: 'area' | 'line' | 'dashed' | 'bars'
  digits?: number
  /** formats a value that is not shown as a plain number, without the unit */
  write?: (value: number | null | undefined) => string
}

/** Lines that share a y scale. Lanes are stacked on one x axis, so that lines of different units do not cross. */
export type Lane = {
  lines: readonly Line[]
  /** the unit of all lines; empty if unknown */
  unit: string
  height: number
  /** whether the y axis begins at zero, as for sums and powers */
  fromZero?: boolean
  /** whether the lines are parts of a sum, drawn on top of each other */
  stacked?: boolean
  /** whether to connect the line across missing values */
  spanGaps?: boolean
}

type Look = Partial<Pick<Line, 'look' | 'digits' | 'write'>>

/** Makes a line, solid unless `look` says otherwise. */
export function makeLine(key: string, label: string, unit: string, colour: string, look: Look = {}): Line {
  return { ...{ key, label, unit, colour, look: 'line' }, ...look }
}

/** Makes a lane with the unit of its first line. */
export function makeLane(height: number, lines: readonly Line[], rest: Partial<Lane> = {}): Lane {
  return { ...{ height, lines, unit: lines[0]?.unit ?? '' }, ...rest }
}

/** A chart without its values. `label` is for screen readers. */
export type Spec = { label: string; x: XAxis; lanes: readonly Lane[] }

/** Makes a chart of power by duration. */
export function makePowerSpec(label: string, lines: readonly Line[]): Spec {
  return { label, x: durationAxis(), lanes: [makeLane(280, lines, { fromZero: true, spanGaps: true })] }
}

/** A chart's values: `x` ascends, and each line has one value for each x. */
export type Columns = {
  x: readonly number[]
  lines: Readonly<Record<string, ReadonlyArray<number | null>>>
}

/** A range of the x axis. */
export type Range = { min: number; max: number }

/** The lanes of one chart, which zoom together. */
export type Lanes = ReturnType<typeof drawLanes>
type Listeners = { point: (index: number | undefined) => void; zoom: (range: Range | undefined) => void }

/**
 * Makes the lanes of a chart, each in its element of `hosts`; the first call of `fit` draws them. Calls `on.point` with the index under the
 * pointer, and `on.zoom` with the x range that a person selects (undefined: all). The caller must then call `zoom` to show the range.
 */
export function drawLanes(hosts: readonly HTMLElement[], spec: Spec, columns: Columns, on: Listeners) {
  const charts: uPlot[] = []
  const whole = { min: columns.x[0] ?? 0, max: columns.x.at(-1) ?? 1 }
  let hidden: ReadonlySet<string> = new Set()
  let wished = whole

  const onPoint = (from: uPlot) => {
    for (const other of charts)
      if (other !== from) other.setCursor({ left: from.cursor.left ?? -10, top: 0 }, false)
    on.point(from.cursor.idx ?? undefined)
  }
  const onSelect = (from: uPlot) => {
    const { left, width } = from.select
    if (width <= 0) return
    from.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    on.zoom({ min: from.posToVal(left, 'x'), max: from.posToVal(left + width, 'x') })
  }
  const onDoubleClick = () => {
    on.zoom(undefined)
    return null
  }
  const drawLane = (host: HTMLElement, lane: Lane): uPlot => {
    const place = { first: lane === spec.lanes[0], last: lane === spec.lanes.at(-1) }
    const [below, ...above] = spec.x.axes(place)
    const series = drawOrderOf(lane).map((line) => ({
      ...seriesOf(lane, line, columns.x.length),
      show: !hidden.has(line.key),
    }))
    return new uPlot(
      {
        width: Math.max(1, host.clientWidth),
        height: lane.height,
        tzDate: DAY_OF_UTC,
        padding: [8, 12, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false },
          points: { size: 8, width: 2 },
          bind: { dblclick: () => onDoubleClick },
        },
        scales: { x: spec.x.scale, y: { range: (_chart, min, max) => rangeOf(lane, min, max) } },
        axes: [below ?? {}, yAxisOf(lane), ...above],
        series: [{}, ...series],
        hooks: { setCursor: [onPoint], setSelect: [onSelect] },
      },
      // The library's order: x, then the lines as drawn.
      [[...columns.x], ...drawOrderOf(lane).map((line) => valuesOf(lane, line, columns))],
      host,
    )
  }

  return {
    /** Returns the first lane, for its scale; undefined before the first drawing. */
    lead: () => charts[0],
    /** Draws the lanes, or fits them to the current width. */
    fit() {
      const width = hosts[0]?.parentElement?.clientWidth ?? 0
      if (width === 0) return
      if (charts.length === 0) {
        for (const [index, host] of hosts.entries()) {
          const lane = spec.lanes[index]
          if (lane) charts.push(drawLane(host, lane))
        }
        for (const chart of charts) if (wished !== whole) chart.setScale('x', wished)
        return
      }
      for (const chart of charts) if (chart.width !== width) chart.setSize({ width, height: chart.height })
    },
    redraw() {
      for (const chart of charts) chart.redraw(false, true)
    },
    /** Hides the lines with these keys and shows all others. */
    hide(keys: ReadonlySet<string>) {
      spec.lanes.forEach((lane, index) => {
        for (const line of lane.lines)
          if (keys.has(line.key) !== hidden.has(line.key))
            // The first series is x.
            charts[index]?.setSeries(drawOrderOf(lane).indexOf(line) + 1, { show: !keys.has(line.key) })
      })
      hidden = keys
    },
    /** Moves the cursor to an index. */
    point(index: number) {
      for (const chart of charts) {
        const x = chart.data[0][index]
        if (x !== undefined) chart.setCursor({ left: chart.valToPos(x, 'x'), top: 0 }, false)
      }
      on.point(index)
    },
    /** Shows an x range; undefined: all. */
    zoom(range: Range | undefined) {
      wished = range ?? whole
      for (const chart of charts) chart.setScale('x', wished)
    },
    remove() {
      for (const chart of charts) chart.destroy()
    },
  }
}

/** Width of a y axis, px: enough for four digits, and the same in every lane, so that the x axes align. */
const Y_AXIS_WIDTH = 46
const FEW_VALUES = 12
const DAY_OF_UTC = (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC')

/** Returns the values of a line; in a stacked lane, adds the values of the lines below it. */
function valuesOf(lane: Lane, line: Line, { x, lines }: Columns): Array<number | null> {
  if (!lane.stacked) return [...(lines[line.key] ?? [])]
  const below = lane.lines.slice(0, lane.lines.indexOf(line) + 1)
  return x.map((_, index) => below.reduce((sum, part) => sum + (lines[part.key]?.[index] ?? 0), 0))
}

/** Returns the lines in drawing order: the highest sum first, so that every part stays visible. */
function drawOrderOf(lane: Lane): readonly Line[] {
  return lane.stacked ? lane.lines.toReversed() : lane.lines
}

function seriesOf(lane: Lane, { label, look, colour: name }: Line, values: number): uPlot.Series {
  const [isBars, isArea] = [look === 'bars', look === 'area']
  const paths = isBars ? uPlot.paths.bars?.({ size: [0.8, 40], align: 1 }) : undefined
  return {
    label,
    stroke: () => colour(name),
    width: isBars ? 0 : isArea ? 1 : 2,
    spanGaps: lane.spanGaps ?? false,
    ...(look === 'dashed' && { dash: [6, 4] }),
    ...((isBars || isArea) && { fill: () => colour(isBars ? name : `${name}-fill`) }),
    ...(paths && { paths }),
    // Draws points if there are few values, because a single value makes no line.
    points: { show: !isBars && values <= FEW_VALUES },
  }
}

function yAxisOf({ lines }: Lane): uPlot.Axis {
  const write = lines[0]?.write ?? ((value: number) => formatNumber(value, '', 2))
  return {
    ...baseAxis(),
    size: Y_AXIS_WIDTH,
    // A fifth of a low lane leaves room for at least two labels, because a step is at most twice the smallest step that fits.
    space: (_chart, _axis, _min, _max, height) => Math.min(36, height / 5),
    values: (_chart, splits) => splits.map(write),
  }
}

/** Computes the range of a y axis with margins above and, unless it begins at zero, below; [0, 1] if there are no values. */
function rangeOf(lane: Lane, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1]
  if (lane.fromZero) return [Math.min(0, min), Math.max(max * 1.08, 1)]
  const air = Math.max((max - min) * 0.12, Math.abs(max) * 0.02, 0.1)
  return [min - air, max + air]
}
