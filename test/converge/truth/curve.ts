const DURATIONS_S = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105, 120, 150, 180, 210,
  240, 270, 300, 360, 420, 480, 540, 600, 720, 840, 900, 1_080, 1_200, 1_500, 1_800, 2_100, 2_400, 2_700,
  3_000, 3_600,
]

/**
 * The power curve computed the long way: each mean by itself, on a grid of seconds in which a gap counts as zero watts.
 * Pairs of seconds and watts, the whole length last.
 */
export function expectedCurve(samples: ReadonlyArray<Record<string, unknown>>): Array<[number, number]> {
  const field = samples.some((sample) => typeof sample.p_raw === 'number') ? 'p_raw' : 'power'
  const seconds = samples.map((sample) => Math.floor(Number(sample.unix_time) / 1_000))
  if (seconds.length === 0) return []
  const first = Math.min(...seconds)
  const grid: number[] = new Array(Math.max(...seconds) - first + 1).fill(0)
  for (const [index, sample] of samples.entries()) grid[(seconds[index] ?? 0) - first] = Number(sample[field])
  return [...DURATIONS_S.filter((duration) => duration < grid.length), grid.length].map((duration) => {
    let best = 0
    for (let from = 0; from + duration <= grid.length; from++) {
      let sum = 0
      for (let second = from; second < from + duration; second++) sum += grid[second] ?? 0
      best = Math.max(best, sum / duration)
    }
    return [duration, best]
  })
}

/** Whether two curves are one: the column is `real`, and sums in another order differ in the last digits. */
export function isSameCurve(
  is: ReadonlyArray<readonly [number, number]>,
  should: ReadonlyArray<readonly [number, number]>,
): boolean {
  return (
    is.length === should.length &&
    is.every(([duration, watts], index) => {
      const [wanted, mean] = should[index] ?? [0, 0]
      return duration === wanted && Math.abs(watts - mean) <= 1e-5 * Math.max(1, mean)
    })
  )
}
