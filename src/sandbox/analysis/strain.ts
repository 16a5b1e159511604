import { makeReserve, type Signature, spendReserve } from '../athlete/signature.ts'
import { at, type Track } from '../athlete/track.ts'

/** What the service makes of a track: smoothed power, what was available, and running training load. */
export type Scored = {
  track: Track
  signature: Signature
  /** Watts in that second, after scaling. */
  raw: Float64Array
  /** The mean of the last five seconds, watts. */
  power: Float64Array
  mpa: Float64Array
  /** Running totals of the load. */
  low: Float64Array
  high: Float64Array
  peak: Float64Array
  /** The load of this second, smoothed, as a rate an hour. */
  rate: Float64Array
}

const SMOOTHING_SECONDS = 5

/**
 * Scores a track against a signature. An hour at Threshold Power is 100; what is above threshold counts as high, and
 * as peak the nearer it comes to what is available. `scale` multiplies every watt first.
 */
export function scoreTrack(track: Track, signature: Signature, scale = 1): Scored {
  const length = track.power.length
  const column = () => new Float64Array(length)
  const scored: Scored = {
    track,
    signature,
    raw: column(),
    power: column(),
    mpa: column(),
    low: column(),
    high: column(),
    peak: column(),
    rate: column(),
  }
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

function trailingMean(raw: Float64Array, place: number): number {
  const from = Math.max(0, place - SMOOTHING_SECONDS + 1)
  let sum = 0
  for (let i = from; i <= place; i++) sum += at(raw, i)
  return sum / (place - from + 1)
}
