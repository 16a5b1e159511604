import { useEffect } from 'preact/hooks'
import type { Range } from '../../shared/charts/lanes.ts'
import { Select } from '../../shared/parts.tsx'

const DAY_S = 86_400
/** The ranges by their name in the address, in days up to the last one. */
const SPANS: ReadonlyArray<[name: string, label: string, days: number | undefined]> = [
  ['6w', '6 weeks', 42],
  ['6m', '6 months', 183],
  ['1y', '1 year', 366],
  ['all', 'Everything', undefined],
]

/** The range of the charts: a number of days or a season, which also selects the bests. */
export type ChosenRange = { span: string; season?: undefined } | { season: number; span?: undefined }

/** Reads the range from the address; everything without one. */
export function readRange(): ChosenRange {
  const query = new URLSearchParams(location.search)
  const season = query.get('season') ?? ''
  if (/^\d{4}$/.test(season)) return { season: Number(season) }
  return { span: SPANS.find(([name]) => name === query.get('span'))?.[0] ?? 'all' }
}

/** Computes the part of a chart of days in a range; `latest`: its last day, s since 1970. Undefined: all. */
export function rangeOfDays({ span, season }: ChosenRange, latest: number): Range | undefined {
  if (season !== undefined)
    return { min: Date.UTC(season, 0, 1) / 1_000, max: Date.UTC(season, 11, 31) / 1_000 }
  const days = SPANS.find(([name]) => name === span)?.[2]
  return days === undefined ? undefined : { min: latest - days * DAY_S, max: latest }
}

type Props = { range: ChosenRange; seasons: readonly number[]; onChoose: (range: ChosenRange) => void }

/** The choice of the range of all charts by day, kept in the address; a season adds a step to the browser's history. */
export function RangeChoice({ range, seasons, onChoose }: Props) {
  const choose = (chosen: ChosenRange) => {
    if (chosen.season === range.season) history.replaceState(null, '', addressOf(chosen))
    else history.pushState(null, '', addressOf(chosen))
    onChoose(chosen)
  }
  useEffect(() => {
    const onBack = () => onChoose(readRange())
    addEventListener('popstate', onBack)
    return () => removeEventListener('popstate', onBack)
  }, [])
  return (
    <div class="choice" role="group" aria-label="Range">
      {SPANS.map(([name, label]) => (
        <button
          key={name}
          type="button"
          aria-pressed={range.span === name}
          onClick={() => choose({ span: name })}
        >
          {label}
        </button>
      ))}
      <Select
        aria-label="Season"
        value={range.season ?? ''}
        options={[['', 'Season'], ...seasons.map((year) => [year, String(year)] as const)]}
        onChoose={(value) => choose(value ? { season: Number(value) } : { span: 'all' })}
      />
    </div>
  )
}

type SportProps = { sport: string; sports: readonly string[]; onChoose: (sport: string) => void }

/** The choice of the sport of weeks and bests, if several; kept in the address. */
export function SportChoice({ sport, sports, onChoose }: SportProps) {
  if (sports.length < 2) return null
  const choose = (chosen: string) => {
    const query = new URLSearchParams(location.search)
    query.set('sport', chosen)
    history.replaceState(null, '', `${location.pathname}?${query}`)
    onChoose(chosen)
  }
  return (
    <div class="choice">
      <Select
        aria-label="Sport"
        value={sport}
        options={[
          ...sports.map((one) => [one, `${one[0]?.toUpperCase()}${one.slice(1)}`] as const),
          ['all', 'All sports'],
        ]}
        onChoose={choose}
      />
    </div>
  )
}

/** Makes the address of the page with another range; the rest stays. */
function addressOf(range: ChosenRange): string {
  const query = new URLSearchParams(location.search)
  query.delete('span')
  query.delete('season')
  for (const [name, value] of Object.entries(range)) if (value !== 'all') query.set(name, String(value))
  const text = query.toString()
  return text ? `${location.pathname}?${text}` : location.pathname
}
