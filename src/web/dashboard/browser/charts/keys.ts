import type uPlot from '../uplot/uPlot.esm.js'
import type { Lanes } from './lanes.ts'
import type { Range } from './spec.ts'

/** A hundred steps from one side to the other; with Shift, ten. */
const STEPS_ACROSS = 100
const ZOOM = 0.6

/** Lets a chart be read and zoomed by keyboard while `stage` has the focus. */
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

/** The range of x that keeps what is at `index` where it is; undefined when all would be seen. */
function zoomAround(lead: uPlot, index: number, factor: number): Range | undefined {
  const xs = lead.data[0]
  const lowest = xs[0] ?? 0
  const highest = xs.at(-1) ?? 1
  // On a logarithmic axis a ratio is what stays the same.
  const [to, from] = lead.scales.x?.distr === 3 ? [Math.log, Math.exp] : [(x: number) => x, (x: number) => x]
  const centre = to(xs[index] ?? lowest)
  const min = from(centre - (centre - to(lead.scales.x?.min ?? lowest)) * factor)
  const max = from(centre + (to(lead.scales.x?.max ?? highest) - centre) * factor)
  if (min <= lowest && max >= highest) return undefined
  return { min: Math.max(min, lowest), max: Math.min(max, highest) }
}
