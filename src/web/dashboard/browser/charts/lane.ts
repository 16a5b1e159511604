import { formatNumber } from '../format.ts'
import uPlot from '../uplot/uPlot.esm.js'
import { baseAxis } from './axes.ts'
import type { Columns, Lane, Line, XAxis } from './spec.ts'
import { colour } from './theme.ts'

/** Room for four digits, the same in every lane, so that their x axes lie below each other. */
const Y_AXIS_WIDTH = 46
const FEW_VALUES = 12
const DAY_OF_UTC = (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC')

export type LaneInput = {
  lane: Lane
  x: XAxis
  place: { first: boolean; last: boolean }
  columns: Columns
  onPoint: (chart: uPlot) => void
  onZoom: (chart: uPlot) => void
}

/** Draws a lane into `host`. */
export function drawLane(host: HTMLElement, input: LaneInput): uPlot {
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

/** The place of a lane's line among the library's series, the first of which is x. */
export function seriesOf(lane: Lane, line: Line): number {
  return drawOrderOf(lane).indexOf(line) + 1
}

/** Lays out a lane's numbers as the library wants them: x, then each line in the order in which it is drawn. */
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
    // One value makes no line; many make one without help.
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

/** A little air above, and below where zero is not the floor; without any value a scale of one, so that it can be drawn. */
function rangeOf(lane: Lane, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1]
  if (lane.fromZero) return [Math.min(0, min), Math.max(max * 1.08, 1)]
  const air = Math.max((max - min) * 0.12, Math.abs(max) * 0.02, 0.1)
  return [min - air, max + air]
}
