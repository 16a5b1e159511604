import type { Recorded } from '../by-second.ts'

/** A climb rises by at least this on average, as a share of its length. */
const MIN_GRADE = 0.03
/** A climb ends where this much is lost against a slope of the least grade, m: 10 m of height, or 333 m of level road. */
const LOST_M = 10
/** Less is a bump, m. */
const MIN_GAIN_M = 30
/** On shorter ways an error of the height is a steep wall, m. */
const MIN_LENGTH_M = 300
const S_AN_HOUR = 3_600

/**
 * A climb: when it begins (s since the first sample), how long it takes, gaps included, height and way, percent, and m of
 * height an hour.
 */
export type Climb = Readonly<{
  fromS: number
  durationS: number
  gainM: number
  lengthM: number
  gradePct: number
  vam: number
}>

/**
 * Finds the climbs of an activity in their order, where it has height and distance. They lie between the low and the high
 * points of the height above a slope of 3 %: from a low point, which is the last of equal ones, to the highest before 10 m of
 * that are lost. So a climb rises by more than 3 % on average, and so do its beginning and its end. Climbs of less than 30 m or
 * 300 m are left out.
 */
export function normalizeClimbs({ count, seconds, alt, dist }: Recorded): Climb[] {
  const climbs: Climb[] = []
  let [low, high] = [-1, -1]
  let [lowest, highest] = [Number.NaN, Number.NaN]
  const end = () => {
    if (low < 0 || high <= low) return
    const gainM = (alt[high] as number) - (alt[low] as number)
    const lengthM = (dist[high] as number) - (dist[low] as number)
    const durationS = (seconds[high] as number) - (seconds[low] as number)
    if (gainM < MIN_GAIN_M || lengthM < MIN_LENGTH_M) return
    climbs.push({
      fromS: (seconds[low] as number) - (seconds[0] as number),
      durationS,
      gainM,
      lengthM,
      gradePct: (gainM / lengthM) * 100,
      vam: (gainM / durationS) * S_AN_HOUR,
    })
  }
  for (let index = 0; index < count; index++) {
    const height = (alt[index] as number) - MIN_GRADE * (dist[index] as number)
    if (Number.isNaN(height)) continue
    if (height > highest) {
      high = index
      highest = height
    } else if (low < 0 || height <= lowest || height <= highest - LOST_M) {
      end()
      low = index
      high = index
      lowest = height
      highest = height
    }
  }
  end()
  return climbs
}

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
