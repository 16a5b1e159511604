import uPlot from 'uplot'
import { formatNumber } from '../format.ts'
import { baseAxis, colour, makeDurationAxis, type XAxis } from './axes.ts'

/** A quantity of a chart. `colour` is a custom property of the style sheet, which follows light and dark. */
export type Line = {
  key: string
  label: string
  unit: string
  colour: string
  look: 'area' | 'line' | 'dashed' | 'bars'
  digits?: number
  /** formats a value that is shown as something other than a number, without the unit */
  write?: (value: number | null | undefined) => string
}

/** Lines that share a scale. Lanes are below each other on one x axis, so that different units do not cross. */
export type Lane = {
  lines: readonly Line[]
  /** the unit of all its lines; empty when unknown */
  unit: string
  height: number
  /** begins at zero, as sums and powers do */
  fromZero?: boolean
  /** the lines are parts of a sum, drawn on top of each other */
  stacked?: boolean
  /** draws the line on across missing values */
  spanGaps?: boolean
}

type Look = Partial<Pick<Line, 'look' | 'digits' | 'write'>>

/** Makes a line; it is drawn through unless `look` says otherwise. */
export function makeLine(key: string, label: string, unit: string, colour: string, look: Look = {}): Line {
  return { ...{ key, label, unit, colour, look: 'line' }, ...look }
}

/** Makes a lane with the unit of its first line. */
export function makeLane(height: number, lines: readonly Line[], rest: Partial<Lane> = {}): Lane {
  return { ...{ height, lines, unit: lines[0]?.unit ?? '' }, ...rest }
}

/** A chart without its numbers. `label` is for a screen reader. */
export type Spec = { label: string; x: XAxis; lanes: readonly Lane[] }

/** Makes a chart of powers by their duration. */
export function makePowerSpec(label: string, lines: readonly Line[]): Spec {
  return { label, x: makeDurationAxis(), lanes: [makeLane(280, lines, { fromZero: true, spanGaps: true })] }
}

/** A chart's numbers: `x` ascends, and each line has as many values. */
export type Columns = {
  x: readonly number[]
  lines: Readonly<Record<string, ReadonlyArray<number | null>>>
}

/** A part of the x axis. */
export type Range = { min: number; max: number }

/** The lanes of one chart, which zoom together. */
export type Lanes = ReturnType<typeof makeLanes>

/**
 * Makes the lanes of a chart, each in its element of `hosts`, which `fit` draws once the width is known. `on` is called with the pointed
 * index, and with the shown part of x (undefined: all).
 */
export function makeLanes(
  hosts: readonly HTMLElement[],
  { spec, columns }: { spec: Spec; columns: Columns },
  on: { point: (index: number | undefined) => void; zoom: (range: Range | undefined) => void },
) {
  const charts: uPlot[] = []
  const whole = { min: columns.x[0] ?? 0, max: columns.x.at(-1) ?? 1 }
  let hidden: ReadonlySet<string> = new Set()
  let wished = whole
  let last: Range | undefined

  const onPoint = (from: uPlot) => {
    for (const other of charts)
      if (other !== from) other.setCursor({ left: from.cursor.left ?? -10, top: 0 }, false)
    on.point(from.cursor.idx ?? undefined)
  }
  const onZoom = (from: uPlot) => {
    const { min, max } = from.scales.x ?? {}
    if (typeof min !== 'number' || typeof max !== 'number') return
    for (const other of charts) {
      const scale = other.scales.x
      if (other !== from && (scale?.min !== min || scale?.max !== max)) other.setScale('x', { min, max })
    }
    // A new drawing sets its scale too.
    if (from !== charts[0] && charts[0] !== undefined) return
    const shown = min <= whole.min && max >= whole.max ? undefined : { min, max }
    if (shown?.min === last?.min && shown?.max === last?.max) return
    last = shown
    on.zoom(shown)
  }
  const draw = () => {
    spec.lanes.forEach((lane, index) => {
      const host = hosts[index]
      const place = { first: index === 0, last: index === spec.lanes.length - 1 }
      if (host) charts.push(drawLane(host, { lane, x: spec.x, place, columns, hidden, onPoint, onZoom }))
    })
    if (wished !== whole) charts[0]?.setScale('x', wished)
  }

  return {
    /** the first lane, for its scale; undefined before the first drawing */
    lead: () => charts[0],
    /** Draws the lanes, or fits them to the present width. */
    fit() {
      const width = hosts[0]?.parentElement?.clientWidth ?? 0
      if (width === 0) return
      if (charts.length === 0) return draw()
      for (const chart of charts) if (chart.width !== width) chart.setSize({ width, height: chart.height })
    },
    redraw() {
      for (const chart of charts) chart.redraw(false, true)
    },
    /** Hides the lines of these keys, and shows all others. */
    hide(keys: ReadonlySet<string>) {
      spec.lanes.forEach((lane, index) => {
        for (const line of lane.lines)
          if (keys.has(line.key) !== hidden.has(line.key))
            charts[index]?.setSeries(seriesOf(lane, line), { show: !keys.has(line.key) })
      })
      hidden = keys
    },
    /** Points at that index. */
    point(index: number) {
      for (const chart of charts) {
        const x = chart.data[0][index]
        if (x !== undefined) chart.setCursor({ left: chart.valToPos(x, 'x'), top: 0 }, false)
      }
      on.point(index)
    },
    /** Shows that part of x; undefined: all of it. */
    zoom(range: Range | undefined) {
      wished = range ?? whole
      charts[0]?.setScale('x', wished)
    },
    remove() {
      for (const chart of charts) chart.destroy()
    },
  }
}

/** Width of four digits, the same in every lane, so that their x axes align. */
const Y_AXIS_WIDTH = 46
const FEW_VALUES = 12
const DAY_OF_UTC = (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC')

type LaneInput = {
  lane: Lane
  x: XAxis
  place: { first: boolean; last: boolean }
  columns: Columns
  hidden: ReadonlySet<string>
  onPoint: (chart: uPlot) => void
  onZoom: (chart: uPlot) => void
}

/** Draws a lane into `host`. */
function drawLane(host: HTMLElement, input: LaneInput): uPlot {
  const { lane, x, place, columns, hidden } = input
  const [below, ...above] = x.axes(place)
  return new uPlot(
    {
      width: Math.max(1, host.clientWidth),
      height: lane.height,
      tzDate: DAY_OF_UTC,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false }, points: { size: 8, width: 2 } },
      scales: { x: x.scale, y: { range: (_chart, min, max) => rangeOf(lane, min, max) } },
      axes: [below ?? {}, makeYAxis(lane), ...above],
      series: [
        {},
        ...drawOrderOf(lane).map((line) => ({
          ...makeSeries({ lane, line, values: columns.x.length }),
          show: !hidden.has(line.key),
        })),
      ],
      hooks: {
        setCursor: [input.onPoint],
        setScale: [(chart, key) => key === 'x' && input.onZoom(chart)],
      },
    },
    makeRows(lane, columns),
    host,
  )
}

/** Finds a line among the library's series of its lane, the first of which is x. */
function seriesOf(lane: Lane, line: Line): number {
  return drawOrderOf(lane).indexOf(line) + 1
}

/** Makes a lane's numbers in the order of the library: x, then the lines as drawn. */
function makeRows(lane: Lane, { x, lines }: Columns): uPlot.AlignedData {
  const drawn = drawOrderOf(lane).map((line) => {
    if (!lane.stacked) return [...(lines[line.key] ?? [])]
    const below = lane.lines.slice(0, lane.lines.indexOf(line) + 1)
    return x.map((_, index) => below.reduce((sum, part) => sum + (lines[part.key]?.[index] ?? 0), 0))
  })
  return [[...x], ...drawn]
}

/** Sums are drawn from the highest down, so that every part is visible. */
function drawOrderOf(lane: Lane): readonly Line[] {
  return lane.stacked ? lane.lines.toReversed() : lane.lines
}

function makeSeries({ lane, line, values }: { lane: Lane; line: Line; values: number }): uPlot.Series {
  const stroke = () => colour(line.colour)
  const filled = line.look === 'area' || line.look === 'bars'
  return {
    label: line.label,
    stroke,
    width: line.look === 'bars' ? 0 : line.look === 'area' ? 1 : 2,
    spanGaps: lane.spanGaps ?? false,
    ...(line.look === 'dashed' && { dash: [6, 4] }),
    ...(filled && { fill: () => colour(line.look === 'bars' ? line.colour : `${line.colour}-fill`) }),
    ...(line.look === 'bars' && makeBars()),
    // One value makes no line; many need no points.
    points: { show: line.look !== 'bars' && values <= FEW_VALUES },
  }
}

function makeBars(): uPlot.Series {
  const paths = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 })
  return paths ? { paths } : {}
}

function makeYAxis({ lines }: Lane): uPlot.Axis {
  const write = lines[0]?.write ?? ((value: number) => formatNumber(value, '', 2))
  return {
    ...baseAxis(),
    size: Y_AXIS_WIDTH,
    // A fifth of a low lane shows at least two labels, as a step is at most twice the smallest that fits.
    space: (_chart, _axis, _min, _max, height) => Math.min(36, height / 5),
    values: (_chart, splits) => splits.map(write),
  }
}

/** Computes the range of a y axis with a margin above, and below unless it begins at zero; [0, 1] without values. */
function rangeOf(lane: Lane, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1]
  if (lane.fromZero) return [Math.min(0, min), Math.max(max * 1.08, 1)]
  const air = Math.max((max - min) * 0.12, Math.abs(max) * 0.02, 0.1)
  return [min - air, max + air]
}
