import type { Lanes } from './lanes.ts'

/** Lets a finger read a chart as a mouse does, by moving sideways; up and down goes on scrolling the page. */
export function listenToFingers(stage: HTMLElement, lanes: Lanes): void {
  stage.addEventListener('pointermove', (event) => {
    const lead = lanes.lead()
    if (event.pointerType === 'mouse' || !lead) return
    const x = lead.posToVal(event.clientX - lead.over.getBoundingClientRect().left, 'x')
    lanes.point(lead.valToIdx(x))
  })
}
