import type { Chart } from '../charts/chart.ts'
import { make } from '../dom.ts'

const DAY_S = 86_400
/** The ranges by the name that stands in the address of the page; the days before the last one. */
const SPANS: ReadonlyArray<[name: string, label: string, days: number | undefined]> = [
  ['6w', '6 weeks', 42],
  ['6m', '6 months', 183],
  ['1y', '1 year', 366],
  ['all', 'Everything', undefined],
]

export type Spans = {
  element: HTMLElement
  /** Shows the seasons to choose from, and the chosen one. */
  setSeasons(seasons: readonly number[]): void
  /** Zooms a chart of days to the choice, in place of an earlier chart of that name. `latest`: its last day, s since 1970. */
  follow(name: string, chart: Chart, latest: number): void
}

/** Reads the season that the address of the page names; undefined when it names none. */
export function readSeason(): number | undefined {
  const season = new URLSearchParams(location.search).get('season') ?? ''
  return /^\d{4}$/.test(season) ? Number(season) : undefined
}

/**
 * Makes the choice of the range: how far back, or a season. All charts of days follow it, and the address of the page keeps
 * it. A season also chooses the bests, so that the page is loaded anew with it.
 */
export function makeSpans(): Spans {
  const season = readSeason()
  const named = new URLSearchParams(location.search).get('span')
  let chosen = season === undefined ? (SPANS.find(([name]) => name === named)?.[0] ?? 'all') : undefined
  const charts = new Map<string, { chart: Chart; latest: number }>()
  const apply = ({ chart, latest }: { chart: Chart; latest: number }) => {
    const days = SPANS.find(([name]) => name === chosen)?.[2]
    if (chosen === undefined && season !== undefined)
      chart.zoom({ min: Date.UTC(season, 0, 1) / 1_000, max: Date.UTC(season, 11, 31) / 1_000 })
    else chart.zoom(days === undefined ? undefined : { min: latest - days * DAY_S, max: latest })
  }
  const buttons = SPANS.map(([name, label]) => {
    const button = make('button', { type: 'button', 'aria-pressed': String(name === chosen) }, label)
    button.addEventListener('click', () => {
      const address = addressOf({ span: name })
      if (season !== undefined) return location.assign(address)
      chosen = name
      history.replaceState(null, '', address)
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button))
      for (const shown of charts.values()) apply(shown)
    })
    return button
  })
  const select = make('select', { 'aria-label': 'Season' }, make('option', { value: '' }, 'Season'))
  select.addEventListener('change', () => {
    location.assign(addressOf(select.value ? { season: select.value } : { span: 'all' }))
  })
  return {
    element: make('div', { class: 'choice', role: 'group', 'aria-label': 'Range' }, ...buttons, select),
    setSeasons(seasons) {
      if (select.options.length === seasons.length + 1) return
      const options = seasons.map((year) =>
        make('option', { value: year, selected: year === season }, String(year)),
      )
      select.replaceChildren(make('option', { value: '' }, 'Season'), ...options)
    },
    follow(name, chart, latest) {
      charts.set(name, { chart, latest })
      apply({ chart, latest })
    },
  }
}

/** Makes the address of the page with another range; the account stays. */
function addressOf(range: { span: string } | { season: string }): string {
  const query = new URLSearchParams(location.search)
  query.delete('span')
  query.delete('season')
  for (const [name, value] of Object.entries(range)) if (value !== 'all') query.set(name, value)
  const text = query.toString()
  return text ? `${location.pathname}?${text}` : location.pathname
}
