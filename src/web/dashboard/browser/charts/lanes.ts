import { make } from '../dom.ts'
import type uPlot from '../uplot/uPlot.esm.js'
import { drawLane, seriesOf } from './lane.ts'
import type { Columns, Line, Range, Spec } from './spec.ts'

/** The lanes of one chart, which move together. */
export type Lanes = {
  elements: readonly HTMLElement[]
  /** the first lane, for its scale; undefined before anything is drawn */
  lead(): uPlot | undefined
  /** Draws the lanes, or fits them to where they stand now. */
  fit(): void
  redraw(): void
  setShown(line: Line, shown: boolean): void
  /** Points at the value of that index. */
  point(index: number): void
  /** Shows x from `min` to `max`; undefined: all of it. */
  zoom(range: Range | undefined): void
}

/** Makes the lanes; `on` hears what is pointed at by mouse or finger, and whether all of x is seen. */
export function makeLanes(
  spec: Spec,
  columns: Columns,
  on: { point: (index: number | null | undefined) => void; zoom: (range: { whole: boolean }) => void },
): Lanes {
  const charts: uPlot[] = []
  const elements = spec.lanes.map((lane) => make('div', { class: 'lane', 'data-unit': lane.unit }))
  const whole = { min: columns.x[0] ?? 0, max: columns.x.at(-1) ?? 1 }
  const hidden = new Set<Line>()
  let wished = whole

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
    on.zoom({ whole: min <= whole.min && max >= whole.max })
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
