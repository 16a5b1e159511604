import type { Range } from '../../shared/charts/lanes.ts'
import { Select, Toggle } from '../../shared/parts.tsx'

const DAY_S = 86_400
/** The ranges: name in the URL, label, and number of days up to the last day. */
const SPANS: ReadonlyArray<[name: string, label: string, days: number | undefined]> = [
  ['6w', '6 weeks', 42],
  ['6m', '6 months', 183],
  ['1y', '1 year', 366],
  ['all', 'All time', undefined],
]

/** The range in the URL; empty for all time. */
type RangeQuery = { span?: string; season?: string }
/** The range of the charts: a span of days, or a season, which also selects the bests. */
export type ChosenRange = { span: string | undefined; season: number | undefined }

/** Parses the range in a URL. */
export function parseRange({ span, season = '' }: RangeQuery): ChosenRange {
  if (/^\d{4}$/.test(season)) return { span: undefined, season: Number(season) }
  return { span: SPANS.find(([name]) => name === span)?.[0] ?? 'all', season: undefined }
}

/** Computes the x range of a chart of days; `latest` is the chart's last day, s since 1970. Returns undefined for all days. */
export function rangeOfDays({ span, season }: ChosenRange, latest: number): Range | undefined {
  if (season !== undefined)
    return { min: Date.UTC(season, 0, 1) / 1_000, max: Date.UTC(season, 11, 31) / 1_000 }
  const days = SPANS.find(([name]) => name === span)?.[2]
  return days === undefined ? undefined : { min: latest - days * DAY_S, max: latest }
}

type Props = {
  range: ChosenRange
  seasons: readonly number[]
  onChoose: (query: Required<RangeQuery>) => void
}

/** The choice of the range for all charts of days. */
export function RangeChoice({ range, seasons, onChoose }: Props) {
  return (
    <div class="choice" role="group" aria-label="Range">
      {SPANS.map(([name, label, days]) => (
        <Toggle
          key={name}
          pressed={range.span === name}
          onClick={() => onChoose({ span: days === undefined ? '' : name, season: '' })}
        >
          {label}
        </Toggle>
      ))}
      <Select
        aria-label="Season"
        value={range.season ?? ''}
        options={[['', 'Season'], ...seasons.map((year) => [year, String(year)] as const)]}
        onChoose={(season) => onChoose({ span: '', season })}
      />
    </div>
  )
}
