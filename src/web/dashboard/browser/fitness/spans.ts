import type { Chart } from '../charts/chart.ts'
import { make } from '../dom.ts'

const DAY_S = 86_400
const SPANS: ReadonlyArray<[label: string, days: number | undefined]> = [
  ['6 weeks', 42],
  ['6 months', 183],
  ['1 year', 366],
  ['Everything', undefined],
]

export type Spans = {
  element: HTMLElement
  /** Lets a chart of days follow the choice, in the place of one of the same name. `latest`: its last day, s since 1970. */
  follow(name: string, chart: Chart, latest: number): void
}

/** Makes the choice of how far back the charts of days look; all of them follow it. */
export function makeSpans(): Spans {
  let chosen: number | undefined
  const charts = new Map<string, { chart: Chart; latest: number }>()
  const apply = ({ chart, latest }: { chart: Chart; latest: number }) =>
    chart.zoom(chosen === undefined ? undefined : { min: latest - chosen * DAY_S, max: latest })
  const buttons = SPANS.map(([label, days]) => {
    const button = make('button', { type: 'button', 'aria-pressed': String(days === chosen) }, label)
    button.addEventListener('click', () => {
      chosen = days
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button))
      for (const shown of charts.values()) apply(shown)
    })
    return button
  })
  return {
    element: make('div', { class: 'choice', role: 'group', 'aria-label': 'How far back' }, ...buttons),
    follow(name, chart, latest) {
      charts.set(name, { chart, latest })
      apply({ chart, latest })
    },
  }
}
