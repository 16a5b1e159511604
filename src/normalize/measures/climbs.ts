import type { Recorded } from './recorded-seconds.ts'

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
