/** Samples by column, as the daemon sends them. */
export type Samples = {
  elapsed_s: readonly number[]
  power: ReadonlyArray<number | null>
  mpa: ReadonlyArray<number | null>
  hr: ReadonlyArray<number | null>
}

/** A part of a ride in numbers; null where nothing was recorded. */
export type Step = {
  from_s: number
  mean_power: number | null
  highest_power: number | null
  lowest_mpa: number | null
  mean_hr: number | null
}

/** A longer silence is a pause, not a slow second. */
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

/** Sums a ride up in at most two dozen equal steps, for who reads rather than looks. */
export function makeSteps(samples: Samples): Step[] {
  const total = samples.elapsed_s.at(-1) ?? 0
  const length = STEPS_S.find((step) => total / step <= MOST_STEPS) ?? 14_400
  const steps: Step[] = []
  let begin = 0
  for (let from = 0; from <= total && begin < samples.elapsed_s.length; from += length) {
    let end = begin
    while (end < samples.elapsed_s.length && (samples.elapsed_s[end] ?? 0) < from + length) end++
    const told = (column: ReadonlyArray<number | null>) =>
      column.slice(begin, end).filter((value) => value !== null)
    steps.push({
      from_s: from,
      mean_power: meanOf(told(samples.power)),
      highest_power: highestOf(told(samples.power)),
      lowest_mpa: lowestOf(told(samples.mpa)),
      mean_hr: meanOf(told(samples.hr)),
    })
    begin = end
  }
  return steps
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
