import { type Load, makeReserve, mapLoad, type Signature, spendReserve } from './fitness-model.ts'
import { at, type Track } from './ride.ts'

const SCORED_COLUMNS = ['raw', 'power', 'mpa', 'low', 'high', 'peak', 'rate'] as const

/**
 * A track as the service scores it, second by second: `raw` watts after scaling, `power` as the mean of five seconds, the available power
 * (`mpa`), running totals of the load (`low`, `high`, `peak`), and the smoothed load per hour as `rate`.
 */
export type Scored = { track: Track; signature: Signature } & Record<
  (typeof SCORED_COLUMNS)[number],
  Float64Array
>

const SMOOTHING_SECONDS = 5

/**
 * Scores a track with a signature. An hour at Threshold Power scores 100; power above threshold counts as high and, near the available
 * power, increasingly as peak. `scale` multiplies all watts first.
 */
export function scoreTrack(track: Track, signature: Signature, scale = 1): Scored {
  const length = track.power.length
  const columns = SCORED_COLUMNS.map((name) => [name, new Float64Array(length)])
  const scored = { track, signature, ...Object.fromEntries(columns) } as Scored
  const reserve = makeReserve(signature)
  const load = { low: 0, high: 0, peak: 0 }
  let rate = 0
  for (let i = 0; i < length; i++) {
    const watts = (at(track.power, i) || 0) * scale
    scored.raw[i] = watts
    const power = trailingMean(scored.raw, i)
    scored.power[i] = power
    const paused = i === 0 ? 0 : (at(track.unixMs, i) - at(track.unixMs, i - 1)) / 1_000 - 1
    if (paused > 0) spendReserve(reserve, signature, 0, paused)
    const mpa = spendReserve(reserve, signature, power)
    scored.mpa[i] = mpa
    const strain = (power / signature.ftp) ** 2 / 36
    rate += (strain * 3_600 - rate) * 0.03
    scored.rate[i] = rate
    if (power > signature.ftp) {
      const above = strain * (1 - signature.ftp / power)
      const nearness = Math.min(1, (power - signature.ftp) / Math.max(1, mpa - signature.ftp)) ** 2
      load.low += strain - above
      load.peak += above * nearness * 0.5
      load.high += above * (1 - nearness * 0.5)
    } else load.low += strain
    scored.low[i] = load.low
    scored.high[i] = load.high
    scored.peak[i] = load.peak
  }
  return scored
}

/** Returns a track's load, which is the last value of its running totals. */
export function loadOf(scored: Scored): Load {
  return mapLoad((part) => scored[part].at(-1) ?? 0)
}

/** Scales the running totals of a load so that they end at the load by which the activity changed the rider's training load. */
export function endAt(scored: Scored, load: Load): Scored {
  const moved = (['low', 'high', 'peak'] as const).map((part) => {
    const totals = scored[part]
    const [wanted, end] = [load[part], totals.at(-1) ?? 0]
    return [part, totals.map((total, i) => wanted * (end > 0 ? total / end : (i + 1) / totals.length))]
  })
  return { ...scored, ...Object.fromEntries(moved) }
}

function trailingMean(raw: Float64Array, place: number): number {
  const from = Math.max(0, place - SMOOTHING_SECONDS + 1)
  let sum = 0
  for (let i = from; i <= place; i++) sum += at(raw, i)
  return sum / (place - from + 1)
}

/** The totals of a track, see sumTrack. */
export type Totals = ReturnType<typeof sumTrack>

/** Computes the totals of a scored track in seconds, watts, rpm, metres, kilometres and kilojoules. Averages cover recorded seconds. `hardest` is the highest training load per hour. */
export function sumTrack(scored: Scored) {
  const { track, signature } = scored
  const length = track.unixMs.length
  const last = Math.max(0, length - 1)
  const totals = { max: 0, sum: 0, cadence: 0, climb: 0, above: 0, fourth: 0, best: 0, window: 0, rate: 0 }
  let height = Number.NaN
  for (let i = 0; i < length; i++) {
    const power = at(scored.power, i)
    totals.max = Math.max(totals.max, power)
    totals.sum += power
    totals.fourth += power ** 4
    totals.rate = Math.max(totals.rate, at(scored.rate, i))
    totals.above += Math.max(0, power - signature.ftp)
    totals.cadence = Math.max(totals.cadence, at(track.cad, i) || 0)
    const alt = at(track.alt, i)
    if (alt > height) totals.climb += alt - height
    if (!Number.isNaN(alt)) height = alt
    totals.window += power - (i >= 300 ? at(scored.power, i - 300) : 0)
    if (i >= 299) totals.best = Math.max(totals.best, totals.window / 300)
  }
  const { low: xlss, high: xhss, peak: xpss } = loadOf(scored)
  return {
    // Two less than the number of samples, as in recorded answers.
    duration: Math.max(0, length - 2),
    elapsedSeconds: length === 0 ? 0 : Math.round((at(track.unixMs, last) - at(track.unixMs, 0)) / 1_000) + 1,
    maxPower: totals.max,
    avgPower: length === 0 ? 0 : totals.sum / length,
    maxCadence: totals.cadence,
    climbM: totals.climb,
    distanceKm: (track.dist.findLast((metres) => !Number.isNaN(metres)) ?? 0) / 1_000,
    workKj: totals.sum / 1_000,
    aboveKj: totals.above / 1_000,
    bestFiveMinutes: totals.best,
    normalPower: length === 0 ? 0 : (totals.fourth / length) ** 0.25,
    hardest: totals.rate,
    xlss,
    xhss,
    xpss,
    xss: xlss + xhss + xpss,
  }
}
