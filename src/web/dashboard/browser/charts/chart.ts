import { make } from '../dom.ts'
import { formatNumber } from '../format.ts'
import { listenToFingers } from './fingers.ts'
import { listenToKeys } from './keys.ts'
import { makeLanes } from './lanes.ts'
import type { Columns, Line, Range, Spec } from './spec.ts'
import { onSchemeChange } from './theme.ts'
import { makeToggles } from './toggles.ts'

const HINT = 'Point at the chart or touch it, or focus it and use the arrow keys, to read it. Drag to zoom.'

export type Chart = {
  element: HTMLElement
  /** Shows x from `min` to `max`; undefined: all of it. */
  zoom(range: Range | undefined): void
}

/** Makes a chart: legend, lanes, and what is pointed at in words. It is drawn when it has a place and so a width. */
export function makeChart(spec: Spec, columns: Columns): Chart {
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
    },
    zoom({ whole }) {
      reset.hidden = whole
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
  }
}

function say({ lines }: Columns, shown: ReadonlySet<Line>, index: number): string {
  return [...shown]
    .map(({ key, label, unit, digits }) => `${label} ${formatNumber(lines[key]?.[index], unit, digits)}`)
    .join(' · ')
}
