import { totalOf } from '../../../../core/normalize/measures.ts'
import { type Column, indexAt, makeCuts, pauseOf, type Samples, spreadOf, wattsOf } from './summarize.ts'

/** The numbers of one step of an activity; null if nothing was recorded. */
export type Step = ReturnType<typeof makeSteps>[number]

const STEPS_S = [1, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200]
const MAX_STEPS = 24

/**
 * Inserts an empty point into every pause, so that the chart's line has a gap there. `places` has the sample index of each point of the
 * chart; for a point in a pause, the index of the last sample before the pause.
 */
export function withPauses(at: readonly number[], columns: Readonly<Record<string, Column>>) {
  const pause = pauseOf(at)
  const x: number[] = []
  const places: number[] = []
  const names = Object.keys(columns).filter((name) => columns[name]?.length)
  const lines = Object.fromEntries(names.map((name) => [name, [] as Array<number | null>]))
  at.forEach((moment, index) => {
    const before = at[index - 1]
    if (before !== undefined && moment - before > pause) {
      x.push(before + 1)
      places.push(index - 1)
      for (const name of names) lines[name]?.push(null)
    }
    x.push(moment)
    places.push(index)
    for (const name of names) lines[name]?.push(columns[name]?.[index] ?? null)
  })
  return { x, lines, places }
}

/** Summarizes an activity in at most 24 equal steps, for the table below the plot. */
export function makeSteps(samples: Samples) {
  const { elapsed_s: at } = samples
  const total = at.at(-1) ?? 0
  const length = STEPS_S.find((step) => total / step <= MAX_STEPS) ?? 14_400
  const watts = wattsOf(samples)
  const cutOut = makeCuts(samples)
  return Array.from({ length: Math.floor(total / length) + 1 }, (_, step) => {
    const from = step * length
    const [begin, end] = [indexAt(at, from), indexAt(at, from + length)]
    const of = (column: Column) => spreadOf(column.slice(begin, end))
    const recorded = cutOut(begin, end)
    const meanOf = (values: Float64Array) => totalOf(recorded, values).mean
    return {
      from_s: from,
      mean_power: meanOf(recorded.power),
      highest_power: of(watts).highest,
      lowest_mpa: of(samples.mpa).lowest,
      mean_hr: meanOf(recorded.hr),
      mean_cad: meanOf(recorded.cad),
    }
  })
}

/** Parses `1:02:03`, `2:03` or `45` into seconds; returns undefined for any other input. */
export function parseTime(text: string): number | undefined {
  if (!/^\d{1,3}(:\d{1,2}){0,2}$/.test(text.trim())) return undefined
  return text
    .trim()
    .split(':')
    .reduce((sum, part) => sum * 60 + Number(part), 0)
}

type Start = { started_at: string | null; started_at_local: string | null; timezone: string | null }

/**
 * Makes the local clock of an activity: `of` turns seconds since the start into a local time such as `17:05`. With a named time zone
 * (`Europe/Paris`) the clock follows daylight saving time; with an offset or an abbreviation it does not. `zone` is the service's name of
 * the zone. Returns undefined if the start is unknown.
 */
export function makeLocalClock(start: Start) {
  if (start.started_at === null || start.started_at_local === null) return undefined
  const startMs = Date.parse(start.started_at)
  const wallMs = Date.parse(`${start.started_at_local}Z`)
  const plain = makeFormat('UTC')
  const zoned = start.timezone?.includes('/') ? makeFormat(start.timezone) : undefined
  // Uses the named zone only if the browser's rules for it agree with the service's local start.
  const agrees = zoned?.format(startMs) === plain?.format(wallMs)
  const of = (elapsedS: number) => {
    if (zoned && agrees) return zoned.format(startMs + elapsedS * 1_000)
    return plain?.format(wallMs + elapsedS * 1_000) ?? ''
  }
  return { of, zone: start.timezone ?? 'zone unknown' }
}

function makeFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' })
  } catch {
    return undefined
  }
}
