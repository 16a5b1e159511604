import type { SampleColumns } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'

type Samples = Serialized<SampleColumns>

/** A part of an activity in numbers; null where nothing was recorded. */
export type Step = {
  from_s: number
  mean_power: number | null
  highest_power: number | null
  lowest_mpa: number | null
  mean_hr: number | null
}

/** A longer gap is a pause, not a slow second. */
const PAUSE_S = 10
const STEPS_S = [60, 120, 300, 600, 900, 1_800, 3_600, 7_200]
const MOST_STEPS = 24

/** Puts an empty point into every pause, so that a chart's line ends there and begins anew. */
export function withPauses(samples: Samples): Samples {
  const shown = {
    elapsed_s: [] as number[],
    power: [] as Array<number | null>,
    mpa: [] as Array<number | null>,
    hr: [] as Array<number | null>,
  }
  samples.elapsed_s.forEach((at, index) => {
    const before = samples.elapsed_s[index - 1]
    if (before !== undefined && at - before > PAUSE_S) {
      shown.elapsed_s.push(before + 1)
      for (const column of [shown.power, shown.mpa, shown.hr]) column.push(null)
    }
    shown.elapsed_s.push(at)
    shown.power.push(samples.power[index] ?? null)
    shown.mpa.push(samples.mpa[index] ?? null)
    shown.hr.push(samples.hr[index] ?? null)
  })
  return shown
}

/** Sums an activity up in at most 24 equal steps, for a table beside the plot. */
export function makeSteps(samples: Samples): Step[] {
  const total = samples.elapsed_s.at(-1) ?? 0
  const length = STEPS_S.find((step) => total / step <= MOST_STEPS) ?? 14_400
  const steps: Step[] = []
  let begin = 0
  for (let from = 0; from <= total && begin < samples.elapsed_s.length; from += length) {
    let end = begin
    while (end < samples.elapsed_s.length && (samples.elapsed_s[end] ?? 0) < from + length) end++
    const recorded = (column: ReadonlyArray<number | null>) => recordedFieldsOf(column.slice(begin, end))
    steps.push({
      from_s: from,
      mean_power: meanOf(recorded(samples.power)),
      highest_power: highestOf(recorded(samples.power)),
      lowest_mpa: lowestOf(recorded(samples.mpa)),
      mean_hr: meanOf(recorded(samples.hr)),
    })
    begin = end
  }
  return steps
}

export function recordedFieldsOf(column: ReadonlyArray<number | null>): number[] {
  return column.filter((value) => value !== null)
}

/** The mean of what was recorded; null of nothing. */
export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

// Spread into Math.max, twelve hours of seconds would be more arguments than a call takes.
export function highestOf(values: readonly number[]): number | null {
  return values.reduce<number | null>((best, value) => (best === null || value > best ? value : best), null)
}

export function lowestOf(values: readonly number[]): number | null {
  return values.reduce<number | null>((best, value) => (best === null || value < best ? value : best), null)
}

type Start = { started_at: string | null; started_at_local: string | null; timezone: string | null }

/** Writes the local time of day from the seconds since the start; `zone` is the service's name of the zone. */
export type LocalClock = { of: (elapsedS: number) => string; zone: string }

/**
 * Makes the local clock of an activity, `17:05`, from the seconds since its start. A zone with a name (`Europe/Paris`)
 * has its changes to and from summer time; with an offset or an abbreviation the clock goes on evenly from the local
 * start. Undefined when the start could not be read.
 */
export function makeLocalClock(start: Start): LocalClock | undefined {
  if (start.started_at === null || start.started_at_local === null) return undefined
  const startMs = Date.parse(start.started_at)
  const wallMs = Date.parse(`${start.started_at_local}Z`)
  const plain = makeFormat('UTC')
  const zoned = start.timezone?.includes('/') ? makeFormat(start.timezone) : undefined
  // A browser whose rules of that zone differ must not contradict the service.
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
