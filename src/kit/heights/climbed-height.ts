/** A height is the mean of so many seconds on either side: a barometer's noise from one second to the next is not a climb. */
const MEAN_REACH_S = 5
/** Smaller ups and downs are noise, m. */
const NOISE_M = 2

/**
 * Sums the rises and falls of heights in m, NaN where one is not known, at moments in s that ascend. Each height is the mean of
 * those up to 5 s before and after it, to the centimetre, and counts when it is 2 m or more from the last one that counted. Null
 * without heights.
 */
export function measureHeight(at: ArrayLike<number>, heights: ArrayLike<number>) {
  let counted = Number.NaN
  let [ascentM, descentM, from] = [0, 0, 0]
  for (let index = 0; index < at.length; index++) {
    if (Number.isNaN(heights[index])) continue
    const moment = at[index] as number
    while (moment - (at[from] as number) > MEAN_REACH_S) from++
    let [sum, known] = [0, 0]
    for (let near = from; near < at.length && (at[near] as number) - moment <= MEAN_REACH_S; near++) {
      const height = heights[near] as number
      if (Number.isNaN(height)) continue
      sum += height
      known++
    }
    const mean = Math.round((100 * sum) / known) / 100
    if (Math.abs(mean - counted) < NOISE_M) continue
    ascentM += Math.max(0, mean - counted) || 0
    descentM += Math.max(0, counted - mean) || 0
    counted = mean
  }
  return Number.isNaN(counted) ? { ascentM: null, descentM: null } : { ascentM, descentM }
}
