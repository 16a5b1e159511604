import { make } from '../dom.ts'
import { formatNumber } from '../format.ts'
import type uPlot from '../uplot/uPlot.esm.js'
import { onSchemeChange } from './axes.ts'
import { type Lanes, makeLanes } from './lanes.ts'

/** A quantity of a chart. `colour` is a custom property of the style sheet, so that it follows light and dark. */
export type Line = {
  key: string
  label: string
  unit: string
  colour: string
  look: 'area' | 'line' | 'dashed' | 'bars'
  digits?: number
}

/** Lines that share a scale. Lanes stand below each other over one x axis, so that lines of different units do not cross. */
export type Lane = {
  lines: readonly Line[]
  /** the label of the y axis */
  unit: string
  height: number
  /** begins at zero, as sums and powers do */
  fromZero?: boolean
  /** the lines are parts of a sum, drawn on top of each other */
  stacked?: boolean
  /** draws the line on across missing values */
  spanGaps?: boolean
}

/** How the x axis is drawn, and its values written. */
export type XAxis = {
  scale: uPlot.Scale
  /** the axes of one lane, bottom one first */
  axes: (place: { first: boolean; last: boolean }) => uPlot.Axis[]
  say: (x: number) => string
}

/** A chart without its numbers. `label` is its name for a screen reader. */
export type Spec = { label: string; x: XAxis; lanes: readonly Lane[] }

/** A chart's numbers: `x` ascends, and every line has one value for each. */
export type Columns = {
  x: readonly number[]
  lines: Readonly<Record<string, ReadonlyArray<number | null>>>
}

/** A part of the x axis. */
export type Range = { min: number; max: number }

const HINT = 'Point at the chart or touch it, or focus it and use the arrow keys, to read it. Drag to zoom.'

export type Chart = {
  element: HTMLElement
  /** Shows x from `min` to `max`; undefined: all of it. */
  zoom(range: Range | undefined): void
  /** Points at the value of that index. */
  point(index: number): void
}

/** Called with the index under the pointer, and with the part of x that is shown; undefined: none, and all of it. */
export type ChartEvents = {
  onPoint?: (index: number | undefined) => void
  onZoom?: (range: Range | undefined) => void
}

/** Makes a chart: legend, lanes, and the values under the pointer in words. It is drawn once it is in the page and has a width. */
export function makeChart(spec: Spec, columns: Columns, events: ChartEvents = {}): Chart {
  const shown = new Set(spec.lanes.flatMap((lane) => lane.lines))
  const readout = make('p', { class: 'readout quiet', 'aria-live': 'polite' }, HINT)
  const reset = make('button', { type: 'button', hidden: true }, 'Show all')
  const name = `${spec.label}. Arrow keys move along it, plus and minus zoom, Escape shows all.`
  const stage = make('div', { class: 'stage', tabindex: 0, role: 'application', 'aria-label': name })

  const lanes = makeLanes(spec, columns, {
    point(index) {
      const x = index === null || index === undefined ? undefined : columns.x[index]
      readout.classList.toggle('quiet', x === undefined)
      readout.textContent = x === undefined ? HINT : `${spec.x.say(x)}: ${say(columns, shown, index ?? 0)}`
      events.onPoint?.(x === undefined ? undefined : (index ?? undefined))
    },
    zoom(range) {
      reset.hidden = range === undefined
      events.onZoom?.(range)
    },
  })
  const toggles = makeToggles(spec, (line, isShown) => {
    if (isShown) shown.add(line)
    else shown.delete(line)
    lanes.setShown(line, isShown)
  })

  stage.append(...lanes.elements)
  new ResizeObserver(() => lanes.fit()).observe(stage)
  onSchemeChange(stage, () => lanes.redraw())
  listenToKeys(stage, lanes)
  listenToFingers(stage, lanes)
  reset.addEventListener('click', () => {
    lanes.zoom(undefined)
    stage.focus()
  })
  const head = make('div', { class: 'chart-head' }, toggles, reset)
  return {
    element: make('div', { class: 'chart' }, head, stage, readout),
    zoom: (range) => lanes.zoom(range),
    point: (index) => lanes.point(index),
  }
}

function say({ lines }: Columns, shown: ReadonlySet<Line>, index: number): string {
  return [...shown]
    .map(({ key, label, unit, digits }) => `${label} ${formatNumber(lines[key]?.[index], unit, digits)}`)
    .join(' · ')
}

/** Makes the legend: one button for each line, which hides it and shows it again. */
export function makeToggles(spec: Spec, onToggle: (line: Line, shown: boolean) => void): HTMLElement {
  const lines = spec.lanes.flatMap((lane) => lane.lines)
  const buttons = lines.map((line) => {
    const swatch = make('span', { class: `swatch ${line.look}`, 'aria-hidden': 'true' })
    swatch.style.setProperty('--swatch', `var(--${line.colour})`)
    const button = make('button', { type: 'button', 'aria-pressed': 'true' }, swatch, line.label)
    button.addEventListener('click', () => {
      const shown = button.getAttribute('aria-pressed') !== 'true'
      button.setAttribute('aria-pressed', String(shown))
      onToggle(line, shown)
    })
    return button
  })
  return make('div', { class: 'toggles', role: 'group', 'aria-label': `Lines of ${spec.label}` }, ...buttons)
}

/** An arrow key takes 100 steps from one side to the other, with Shift 10. */
const STEPS_ACROSS = 100
const ZOOM = 0.6

/** Reads and zooms a chart by keyboard while `stage` has the focus. */
export function listenToKeys(stage: HTMLElement, lanes: Lanes): void {
  let at: number | undefined
  stage.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const lead = lanes.lead()
    if (!lead) return
    const [first = 0, last = 0] = lead.series[0]?.idxs ?? []
    at = Math.min(Math.max(at ?? Math.round((first + last) / 2), first), last)
    const step = Math.max(1, Math.round((last - first) / STEPS_ACROSS)) * (event.shiftKey ? 10 : 1)
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: at - step,
      ArrowRight: at + step,
      Home: first,
      End: last,
    }
    const target = moves[event.key]
    if (target !== undefined) {
      at = Math.min(Math.max(target, first), last)
      lanes.point(at)
    } else if (event.key === '+' || event.key === '=') lanes.zoom(zoomAround(lead, at, ZOOM))
    else if (event.key === '-') lanes.zoom(zoomAround(lead, at, 1 / ZOOM))
    else if (event.key === 'Escape' || event.key === '0') lanes.zoom(undefined)
    else return
    event.preventDefault()
  })
}

/** Computes the range of x that keeps the value at `index` where it is; undefined when it would be all. */
function zoomAround(lead: uPlot, index: number, factor: number): Range | undefined {
  const xs = lead.data[0]
  const lowest = xs[0] ?? 0
  const highest = xs.at(-1) ?? 1
  // On a logarithmic axis the ratio to the centre stays the same, not the distance.
  const [to, from] = lead.scales.x?.distr === 3 ? [Math.log, Math.exp] : [(x: number) => x, (x: number) => x]
  const centre = to(xs[index] ?? lowest)
  const min = from(centre - (centre - to(lead.scales.x?.min ?? lowest)) * factor)
  const max = from(centre + (to(lead.scales.x?.max ?? highest) - centre) * factor)
  if (min <= lowest && max >= highest) return undefined
  return { min: Math.max(min, lowest), max: Math.min(max, highest) }
}

/** Reads a chart by a finger that moves sideways; up and down still scrolls the page. */
export function listenToFingers(stage: HTMLElement, lanes: Lanes): void {
  stage.addEventListener('pointermove', (event) => {
    const lead = lanes.lead()
    if (event.pointerType === 'mouse' || !lead) return
    const x = lead.posToVal(event.clientX - lead.over.getBoundingClientRect().left, 'x')
    lanes.point(lead.valToIdx(x))
  })
}
