import { hasValue } from '../../../kit/floats.ts'
import type { Measures } from '../../store/samples/content.ts'
import type { Samples } from '../../store/samples/encode-samples.ts'
import { addUp, bestSum, makeRecorded, type Recorded, type Sums, spreadOverSeconds } from '../by-second.ts'
import { type Climb, measureHeight, normalizeClimbs } from './climbs.ts'

/** The window of the weighted mean power, s. */
const WEIGHTED_WINDOW_S = 30
/** Below this speed, m/s, a rider stands still. */
const SLOWEST_MPS = 0.5
/** Nobody rides faster; such a step is a jump of the distance and not a way, m/s. */
const FASTEST_MPS = 50
/** After this time off its course, s, a distance has started again. */
const MAX_OFF_S = 10
/** The width of a step of cadence, and the highest one that is a cadence, 1/min. */
const [CADENCE_STEP, HIGHEST_CADENCE] = [5, 250] as const
const MPS_TO_KMH = 3.6
const [MINUTE_S, J_A_KJ] = [60, 1_000] as const

/**
 * Computes the measures of an activity; what cannot be known is null. `ftp`: its threshold power, W; null when it is unknown.
 * Samples are in the order of time; each counts for the seconds that it lasts, of several in one second only the last. Recording
 * gaps are no time, but they are zero in a window over several seconds, as in power curves. Undefined without samples. The columns
 * of `training.ride_measures` say the formula of each.
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
  const meanHr = meanOf(recorded, recorded.hr)
  const climbs = normalizeClimbs(recorded)
  return {
    ...ridden,
    variability: ratio(weightedPower, meanPower),
    intensity: ratio(weightedPower, ftp),
    meanHr,
    efficiency: ratio(weightedPower, meanHr),
    ...measureDrift(recorded),
    ...columnsOfClimb(
      'longest',
      largest(climbs, ({ lengthM }) => lengthM),
    ),
    ...columnsOfClimb(
      'steepest',
      largest(climbs, ({ gradePct }) => gradePct),
    ),
    ...columnsOfBests(sumsOf(recorded.hr), ['bestHr', [1, 5, 20, 60], '']),
    ...columnsOfBests(sumsOf(speed), ['bestSpeed', [1, 5, 20, 60], ''], { unit: MPS_TO_KMH }),
    ...measureAfterWork(powerSums),
    ...measureCadence(recorded),
  }
}

/** Computes movement, work, weighted power and height, of an activity or a part of it; with the speeds and the sums of the power. */
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

/** Divides; null where one of the two is unknown, or the divisor is not above zero. */
function ratio(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null || !(divisor > 0) ? null : dividend / divisor
}

/** Computes the mean of the seconds with a value; null without any. */
function meanOf({ count, heldS }: Recorded, values: Float64Array): number | null {
  let sum = 0
  let seconds = 0
  for (let index = 0; index < count; index++) {
    const value = values[index] as number
    if (Number.isNaN(value)) continue
    sum += value * (heldS[index] as number)
    seconds += heldS[index] as number
  }
  return seconds > 0 ? sum / seconds : null
}

/**
 * The speed of each sample, m/s, by the way until the next one; NaN before a gap and without a distance. While a distance falls or jumps,
 * the way does not count until the distance exceeds its maximum, so that no way counts twice; after 10 s it starts again.
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
    const goesOn = next >= highest && next - highest <= FASTEST_MPS * held
    const metres = goesOn && offS === 0 ? next - highest : 0
    offS = goesOn ? 0 : offS + held
    if (goesOn || offS > MAX_OFF_S) [highest, offS] = [next, 0]
    speed[index] = metres / held
    if (!(metres > SLOWEST_MPS * held)) continue
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
  const { count, heldS, power } = recorded
  const meanPower = meanOf(recorded, power)
  let joules = 0
  for (let index = 0; index < count; index++) {
    const watts = power[index] as number
    if (!Number.isNaN(watts)) joules += watts * (heldS[index] as number)
  }
  return { meanPower, workKj: meanPower === null ? null : joules / J_A_KJ }
}

/** The means of 30 s end at each second with power from the 30th of the activity on. */
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
  return counted > 0 ? (fourths / counted) ** 0.25 : null
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
    decouplingPct: isWhole(pedalling)
      ? 100 * (1 - efficiencyOf(pedalling.second) / efficiencyOf(pedalling.first))
      : null,
    hrDriftPct: isWhole(all) ? 100 * (meanOfHalf(all.second) / meanOfHalf(all.first) - 1) : null,
  }
}

/** The seconds that count, and the sums of both halves of them. */
type Halves = ReturnType<typeof makeHalves>

function makeHalves() {
  return {
    total: 0,
    first: { values: 0, beats: 0, seconds: 0 },
    second: { values: 0, beats: 0, seconds: 0 },
  }
}

/** Adds a sample to its half: to the first when less than half of the seconds that count are before it. */
function addToHalf({ total, first, second }: Halves, value: number, beats: number, held: number): void {
  const half = first.seconds * 2 < total ? first : second
  half.values += value * held
  half.beats += beats * held
  half.seconds += held
}

function isWhole({ second }: Halves): boolean {
  return second.seconds > 0
}

/** Returns the climb with the largest value, the earliest of equal ones. */
function largest(climbs: readonly Climb[], value: (climb: Climb) => number): Climb | undefined {
  return climbs.reduce<Climb | undefined>(
    (best, climb) => (best && value(best) >= value(climb) ? best : climb),
    undefined,
  )
}

/** Makes the columns of a climb, with the prefix `which`. */
function columnsOfClimb<Which extends string>(which: Which, climb: Climb | undefined) {
  const columns = {
    ...{ FromS: climb?.fromS, S: climb?.durationS, GainM: climb?.gainM },
    ...{ LengthM: climb?.lengthM, GradePct: climb?.gradePct, Vam: climb?.vam },
  }
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [`${which}Climb${name}`, value ?? null]),
  ) as Record<`${Which}Climb${keyof typeof columns}`, number | null>
}

/** Makes the columns of the best means over some minutes; null where the activity is shorter or nothing is known. */
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
    const from = power ? indexOfSum(power.sums, kj * J_A_KJ) : -1
    return columnsOfBests(from < 0 ? undefined : power, ['best', [1, 5, 20], `After${kj}Kj` as const], {
      from,
    })
  }
  return { ...after(1_000), ...after(2_000), ...after(3_000) }
}

/** Returns the index of the first sum that reaches a value; -1 when none does. */
function indexOfSum(sums: Float64Array, least: number): number {
  for (let index = 0; index < sums.length; index++) if ((sums[index] as number) >= least) return index
  return -1
}

/** Counts the seconds of pedalling, and the work in them, in steps of 5 /min. */
function measureCadence({ count, heldS, cad, power }: Recorded) {
  const seconds = new Array<number>(HIGHEST_CADENCE / CADENCE_STEP).fill(0)
  const joules = new Float64Array(seconds.length)
  let used = 0
  for (let index = 0; index < count; index++) {
    const revolutions = cad[index] as number
    if (!(revolutions > 0 && revolutions < HIGHEST_CADENCE)) continue
    const step = Math.floor(revolutions / CADENCE_STEP)
    seconds[step] = (seconds[step] as number) + (heldS[index] as number)
    const watts = power[index] as number
    if (!Number.isNaN(watts)) joules[step] = (joules[step] as number) + watts * (heldS[index] as number)
    used = Math.max(used, step + 1)
  }
  if (used === 0) return { cadenceS: null, cadenceWorkKj: null }
  const withPower = hasValue(power, count)
  return {
    cadenceS: seconds.slice(0, used),
    cadenceWorkKj: withPower ? Array.from(joules.subarray(0, used), (sum) => sum / J_A_KJ) : null,
  }
}
