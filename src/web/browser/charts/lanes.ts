import { make } from '../dom.ts'
import { formatNumber } from '../format.ts'
import uPlot from '../uplot/uPlot.esm.js'
import { baseAxis, colour } from './axes.ts'
import type { Columns, Lane, Line, Range, Spec, XAxis } from './chart.ts'

/** The lanes of one chart, which move together. */
export type Lanes = {
  elements: readonly HTMLElement[]
  /** the first lane, for its scale; undefined before anything is drawn */
  lead(): uPlot | undefined
  /** Draws the lanes, or fits them to their present width. */
  fit(): void
  redraw(): void
  setShown(line: Line, shown: boolean): void
  /** Points at the value of that index. */
  point(index: number): void
  /** Shows x from `min` to `max`; undefined: all of it. */
  zoom(range: Range | undefined): void
}

/** Makes the lanes; `on` is called with the index under the pointer, and with the part of x that is shown, undefined for all of it. */
export function makeLanes(
  spec: Spec,
  columns: Columns,
  on: { point: (index: number | null | undefined) => void; zoom: (range: Range | undefined) => void },
): Lanes {
  const charts: uPlot[] = []
  const elements = spec.lanes.map((lane) =>
    make('div', { class: 'lane', 'data-unit': lane.unit, 'data-lane': lane.lines[0]?.label }),
  )
  const whole = { min: columns.x[0] ?? 0, max: columns.x.at(-1) ?? 1 }
  const hidden = new Set<Line>()
  let wished = whole
  let last: Range | undefined

  const onPoint = (from: uPlot) => {
    for (const other of charts)
      if (other !== from) other.setCursor({ left: from.cursor.left ?? -10, top: 0 }, false)
    on.point(from.cursor.idx)
  }
  const onZoom = (from: uPlot) => {
    const { min, max } = from.scales.x ?? {}
    if (typeof min !== 'number' || typeof max !== 'number') return
    for (const other of charts) {
      const scale = other.scales.x
      if (other !== from && (scale?.min !== min || scale?.max !== max)) other.setScale('x', { min, max })
    }
    // Drawing a chart anew sets its scale, too.
    if (from !== charts[0] && charts[0] !== undefined) return
    const shown = min <= whole.min && max >= whole.max ? undefined : { min, max }
    if (shown?.min === last?.min && shown?.max === last?.max) return
    last = shown
    on.zoom(shown)
  }
  const draw = () => {
    spec.lanes.forEach((lane, index) => {
      const host = elements[index]
      const place = { first: index === 0, last: index === spec.lanes.length - 1 }
      if (host) charts.push(drawLane(host, { lane, x: spec.x, place, columns, onPoint, onZoom }))
    })
    if (wished !== whole) charts[0]?.setScale('x', wished)
  }

  return {
    elements,
    lead: () => charts[0],
    fit() {
      const width = elements[0]?.parentElement?.clientWidth ?? 0
      if (width === 0) return
      if (charts.length === 0) return draw()
      for (const chart of charts) if (chart.width !== width) chart.setSize({ width, height: chart.height })
    },
    redraw() {
      for (const chart of charts) chart.redraw(false, true)
    },
    setShown(line, shown) {
      if (shown) hidden.delete(line)
      else hidden.add(line)
      spec.lanes.forEach((lane, index) => {
        if (!lane.lines.includes(line)) return
        charts[index]?.setSeries(seriesOf(lane, line), { show: shown })
        const element = elements[index]
        if (element) element.hidden = lane.lines.every((one) => hidden.has(one))
      })
    },
    point(index) {
      for (const chart of charts) {
        const x = chart.data[0][index]
        if (x !== undefined) chart.setCursor({ left: chart.valToPos(x, 'x'), top: 0 }, false)
      }
      on.point(index)
    },
    zoom(range) {
      wished = range ?? whole
      charts[0]?.setScale('x', wished)
    },
  }
}

/** Room for four digits, the same in every lane, so that their x axes lie below each other. */
const Y_AXIS_WIDTH = 46
const FEW_VALUES = 12
const DAY_OF_UTC = (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC')

type LaneInput = {
  lane: Lane
  x: XAxis
  place: { first: boolean; last: boolean }
  columns: Columns
  onPoint: (chart: uPlot) => void
  onZoom: (chart: uPlot) => void
}

/** Draws a lane into `host`. */
function drawLane(host: HTMLElement, input: LaneInput): uPlot {
  const { lane, x, place, columns } = input
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
      series: [{}, ...drawOrderOf(lane).map((line) => makeSeries({ lane, line, values: columns.x.length }))],
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

/** Makes a lane's numbers in the order of the library: x, then each line as it is drawn. */
function makeRows(lane: Lane, { x, lines }: Columns): uPlot.AlignedData {
  const drawn = drawOrderOf(lane).map((line) => {
    if (!lane.stacked) return [...(lines[line.key] ?? [])]
    const below = lane.lines.slice(0, lane.lines.indexOf(line) + 1)
    return x.map((_, index) => below.reduce((sum, part) => sum + (lines[part.key]?.[index] ?? 0), 0))
  })
  return [[...x], ...drawn]
}

/** Sums are drawn from the highest down, so that each part shows above the one before. */
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
    // One value makes no line, and many need no points.
    points: { show: line.look !== 'bars' && values <= FEW_VALUES },
  }
}

function makeBars(): uPlot.Series {
  const paths = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 })
  return paths ? { paths } : {}
}

function makeYAxis({ unit }: Lane): uPlot.Axis {
  return {
    ...baseAxis(),
    size: Y_AXIS_WIDTH,
    space: 36,
    label: unit,
    labelSize: 20,
    values: (_chart, splits) => splits.map((value) => formatNumber(value, '', 2)),
  }
}

/** Computes the range of a y axis with a margin above, and below unless it begins at zero; [0, 1] without any value. */
function rangeOf(lane: Lane, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1]
  if (lane.fromZero) return [Math.min(0, min), Math.max(max * 1.08, 1)]
  const air = Math.max((max - min) * 0.12, Math.abs(max) * 0.02, 0.1)
  return [min - air, max + air]
}
