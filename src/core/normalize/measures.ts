import { hasValue } from '../../kit/floats.ts'
import type { Measures } from '../store/samples/content.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { addUp, bestSum, makeRecorded, type Recorded, type Sums, spreadOverSeconds } from './by-second.ts'

/** Window of the weighted mean power, s. */
const WEIGHTED_WINDOW_S = 30
/** Below this speed a rider is not moving, m/s. */
const MIN_MOVING_MPS = 0.5
/** Maximum speed, m/s. A faster step is a jump of the recorded distance. */
const MAX_MPS = 50
/** How long a distance may fall or jump before the distance is considered restarted, s. */
const MAX_OFF_S = 10
/** Width of a cadence step, and the limit of a plausible cadence, rpm. */
const [CADENCE_STEP, MAX_CADENCE] = [5, 250] as const
const MPS_TO_KMH = 3.6
const [MINUTE_S, J_A_KJ] = [60, 1_000] as const

/**
 * Computes the measures of an activity; null if unknown. `ftp`: its threshold power, W, null if unknown. Samples are in order of time. Each
 * counts for the seconds that it lasts; of several in one second only the last counts. Gaps do not count as time, but as zero in a window
 * over several seconds, as in power curves. Undefined without samples. The column comments of `training.ride_measures` give the formulas.
 */
export function normalizeMeasures(
  samples: Samples,
  ftp: number | null,
  recorded: Recorded = makeRecorded(samples),
): Measures | undefined {
  if (samples.count === 0) return undefined
  const sumsOf = (values: Float64Array) => {
    const spread = spreadOverSeconds(values, recorded)
    return spread && addUp(spread)
  }
  const { speed, powerSums, ...ridden } = measureEffort(recorded)
  const { meanPower, weightedPower } = ridden
  const meanHr = totalOf(recorded, recorded.hr).mean
  const climbs = normalizeClimbs(recorded)
  return {
    ...ridden,
    variability: ratio(weightedPower, meanPower),
    intensity: ratio(weightedPower, ftp),
    meanHr,
    efficiency: ratio(weightedPower, meanHr),
    ...measureDrift(recorded),
    ...columnsOfClimb('longest', largest(climbs, 'lengthM')),
    ...columnsOfClimb('steepest', largest(climbs, 'gradePct')),
    ...columnsOfBests(sumsOf(recorded.hr), ['bestHr', [1, 5, 20, 60], '']),
    ...columnsOfBests(sumsOf(speed), ['bestSpeed', [1, 5, 20, 60], ''], { unit: MPS_TO_KMH }),
    ...measureAfterWork(powerSums),
    ...measureCadence(recorded),
  }
}

/** Computes movement, work, weighted power and height of an activity or a part of it. Also returns the speeds and the prefix sums of power. */
export function measureEffort(recorded: Recorded) {
  const watts = spreadOverSeconds(recorded.power, recorded)
  const powerSums = watts && addUp(watts)
  return {
    ...measureMovement(recorded),
    ...measureWork(recorded),
    weightedPower: powerSums ? measureWeightedPower(recorded, powerSums) : null,
    ...measureHeight(recorded.seconds, recorded.alt),
    powerSums,
  }
}

/** Divides two numbers. Returns null if a number is unknown or the divisor is not positive. */
function ratio(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null || !(divisor > 0) ? null : dividend / divisor
}

/** Returns the sum over all seconds with a value, and the mean; the mean is null without values. */
export function totalOf({ count, heldS }: Recorded, values: Float64Array) {
  let sum = 0
  let seconds = 0
  for (let index = 0; index < count; index++) {
    const value = values[index] as number
    if (Number.isNaN(value)) continue
    sum += value * (heldS[index] as number)
    seconds += heldS[index] as number
  }
  return { sum, mean: seconds > 0 ? sum / seconds : null }
}

/**
 * Computes the speed from each sample to the next sample, m/s; NaN before a gap and without a distance. If the distance falls or jumps, speed
 * is 0 until the distance exceeds its previous maximum, so that no metre counts twice. After 10 s the distance is taken to have restarted.
 */
function measureMovement({ count, seconds, heldS, dist, cad, power }: Recorded) {
  const speed = new Float64Array(count).fill(Number.NaN)
  const pedalling = hasValue(cad, count) ? cad : power
  let distanceKnown = false
  let [movingS, coastingS, pedallingKnownS] = [0, 0, 0]
  let [highest, offS] = [Number.NaN, 0]
  for (let index = 0; index < count; index++) {
    if (Number.isNaN(dist[index])) continue
    distanceKnown = true
    const held = heldS[index] as number
    if (Number.isNaN(highest)) highest = dist[index] as number
    const isGap = index + 1 === count || (seconds[index + 1] as number) - (seconds[index] as number) !== held
    const next = isGap ? Number.NaN : (dist[index + 1] as number)
    if (Number.isNaN(next)) {
      ;[highest, offS] = [Number.NaN, 0]
      continue
    }
    const goesOn = next >= highest && next - highest <= MAX_MPS * held
    const metres = goesOn && offS === 0 ? next - highest : 0
    offS = goesOn ? 0 : offS + held
    if (goesOn || offS > MAX_OFF_S) [highest, offS] = [next, 0]
    speed[index] = metres / held
    if (!(metres > MIN_MOVING_MPS * held)) continue
    movingS += held
    const revolutions = pedalling[index] as number
    if (Number.isNaN(revolutions)) continue
    pedallingKnownS += held
    if (revolutions <= 0) coastingS += held
  }
  return {
    speed,
    movingS: distanceKnown ? movingS : null,
    coastingS: pedallingKnownS > 0 ? coastingS : null,
    coastingPct: pedallingKnownS > 0 ? (100 * coastingS) / pedallingKnownS : null,
  }
}

function measureWork(recorded: Recorded) {
  const { sum: joules, mean: meanPower } = totalOf(recorded, recorded.power)
  return { meanPower, workKj: meanPower === null ? null : joules / J_A_KJ }
}

/** Computes the fourth-power mean of 30 s averages, which end at each second with power after the first 29 s. */
function measureWeightedPower({ count, seconds, heldS, power }: Recorded, { sums }: Sums): number | null {
  const first = seconds[0] as number
  let fourths = 0
  let counted = 0
  for (let index = 0; index < count; index++) {
    if (Number.isNaN(power[index])) continue
    const from = (seconds[index] as number) - first
    const end = from + (heldS[index] as number)
    for (let second = Math.max(from + 1, WEIGHTED_WINDOW_S); second <= end; second++) {
      const mean =
        ((sums[second] as number) - (sums[second - WEIGHTED_WINDOW_S] as number)) / WEIGHTED_WINDOW_S
      const square = mean * mean
      fourths += square * square
      counted++
    }
  }
  // Two square roots, because versions of Node differ in the last digit of other roots.
  return counted > 0 ? Math.sqrt(Math.sqrt(fourths / counted)) : null
}

function measureDrift({ count, heldS, power, hr }: Recorded) {
  const [pedalling, all] = [makeHalves(), makeHalves()]
  for (let index = 0; index < count; index++) {
    if (Number.isNaN(hr[index])) continue
    all.total += heldS[index] as number
    if ((power[index] as number) > 0) pedalling.total += heldS[index] as number
  }
  for (let index = 0; index < count; index++) {
    const beats = hr[index] as number
    if (Number.isNaN(beats)) continue
    const held = heldS[index] as number
    addToHalf(all, beats, beats, held)
    const watts = power[index] as number
    if (watts > 0) addToHalf(pedalling, watts, beats, held)
  }
  const efficiencyOf = ({ values, beats }: Halves['first']) => values / beats
  const meanOfHalf = ({ beats, seconds }: Halves['first']) => beats / seconds
  return {
    decouplingPct:
      pedalling.second.seconds > 0
        ? 100 * (1 - efficiencyOf(pedalling.second) / efficiencyOf(pedalling.first))
        : null,
    hrDriftPct: all.second.seconds > 0 ? 100 * (meanOfHalf(all.second) / meanOfHalf(all.first) - 1) : null,
  }
}

/** Counted seconds and sums of both halves of an activity. */
type Halves = ReturnType<typeof makeHalves>

function makeHalves() {
  const makeHalf = () => ({ values: 0, beats: 0, seconds: 0 })
  return { total: 0, first: makeHalf(), second: makeHalf() }
}

/** Adds a sample to the first half if less than half of all counted seconds came before it, otherwise to the second. */
function addToHalf({ total, first, second }: Halves, value: number, beats: number, held: number): void {
  const half = first.seconds * 2 < total ? first : second
  half.values += value * held
  half.beats += beats * held
  half.seconds += held
}

/** Returns the climb with the largest value; of equal ones the earliest. */
function largest(climbs: readonly Climb[], value: 'lengthM' | 'gradePct'): Climb | undefined {
  return climbs.toSorted((a, b) => b[value] - a[value])[0]
}

/** Makes the columns of a climb. `which` is the prefix of their names. */
function columnsOfClimb<Which extends string>(which: Which, climb: Climb | undefined) {
  const columns = {
    ...{ FromS: climb?.fromS, S: climb?.durationS, GainM: climb?.gainM },
    ...{ LengthM: climb?.lengthM, GradePct: climb?.gradePct, Vam: climb?.vam },
  }
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [`${which}Climb${name}`, value ?? null]),
  ) as Record<`${Which}Climb${keyof typeof columns}`, number | null>
}

/** Makes the columns of the best means over some minutes; null if the activity is shorter or the value is unknown. */
function columnsOfBests<Before extends string, Minutes extends number, After extends string>(
  sums: Sums | undefined,
  [before, minutes, after]: readonly [Before, readonly Minutes[], After],
  { from = 0, unit = 1 } = {},
) {
  const best = (each: number) => {
    const durationS = each * MINUTE_S
    if (!sums || from + durationS >= sums.sums.length) return null
    return (bestSum(sums, { durationS, from }) / durationS) * unit
  }
  return Object.fromEntries(minutes.map((each) => [`${before}${each}Min${after}`, best(each)])) as Record<
    `${Before}${Minutes}Min${After}`,
    number | null
  >
}

function measureAfterWork(power: Sums | undefined) {
  const after = <Kj extends number>(kj: Kj) => {
    const from = power ? power.sums.findIndex((sum) => sum >= kj * J_A_KJ) : -1
    return columnsOfBests(from < 0 ? undefined : power, ['best', [1, 5, 20], `After${kj}Kj` as const], {
      from,
    })
  }
  return { ...after(1_000), ...after(2_000), ...after(3_000) }
}

/** Counts the seconds of pedalling, and the work done in them, in steps of 5 rpm. */
function measureCadence({ count, heldS, cad, power }: Recorded) {
  const seconds = new Array<number>(MAX_CADENCE / CADENCE_STEP).fill(0)
  const joules = new Float64Array(seconds.length)
  let used = 0
  for (let index = 0; index < count; index++) {
    const revolutions = cad[index] as number
    if (!(revolutions > 0 && revolutions < MAX_CADENCE)) continue
    const step = Math.floor(revolutions / CADENCE_STEP)
    seconds[step] = (seconds[step] as number) + (heldS[index] as number)
    const watts = power[index] as number
    if (!Number.isNaN(watts)) joules[step] = (joules[step] as number) + watts * (heldS[index] as number)
    used = Math.max(used, step + 1)
  }
  if (used === 0) return { cadenceS: null, cadenceWorkKj: null }
  return {
    cadenceS: seconds.slice(0, used),
    cadenceWorkKj: hasValue(power, count)
      ? Array.from(joules.subarray(0, used), (sum) => sum / J_A_KJ)
      : null,
  }
}

/** Minimum average grade of a climb, as a fraction. */
const MIN_GRADE = 0.03
/** A climb ends after losing this much against a slope of the minimum grade, m: 10 m of height, or 333 m of flat road. */
const LOST_M = 10
/** Minimum gain of a climb, m. */
const MIN_GAIN_M = 30
/** Minimum length of a climb, m. On less, an error of the height looks like a steep climb. */
const MIN_LENGTH_M = 300
const S_AN_HOUR = 3_600

/** A climb: start (s since the first sample), duration including gaps, height gained, length, grade in percent, and ascent rate (VAM) in m/h. */
type Climb = Readonly<{
  fromS: number
  durationS: number
  gainM: number
  lengthM: number
  gradePct: number
  vam: number
}>

/**
 * Finds the climbs of an activity in order, if it has height and distance. It measures height above a slope of 3 %: a climb leads from a
 * low point (of equal ones the last) to the highest point before 10 m of that height are lost. So a climb rises by more than 3 % on
 * average, as do its beginning and its end. Leaves out climbs of less than 30 m or 300 m.
 */
function normalizeClimbs({ count, seconds, alt, dist }: Recorded): Climb[] {
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

/** Heights are averaged over this many seconds before and after, so that noise of the barometer is not a climb. */
const MEAN_REACH_S = 5
/** Smaller changes of height are noise, m. */
const NOISE_M = 2

/**
 * Sums ascent and descent of heights, m, NaN if unknown, at ascending times, s. Each height is averaged over 5 s before and after it, to
 * the centimetre, and counts if it differs by at least 2 m from the last counted one. Null without heights.
 */
function measureHeight(at: ArrayLike<number>, heights: ArrayLike<number>) {
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
