import { at } from '../athlete/track.ts'
import type { Scored } from './strain.ts'

/** What a track adds up to. Seconds, watts, turns a minute, metres, kilometres, kilojoules; `hardest` as a rate an hour. */
export type Totals = {
  /** Two less than there are samples, as recorded answers have it. */
  duration: number
  elapsedSeconds: number
  maxPower: number
  avgPower: number
  maxCadence: number
  climbM: number
  distanceKm: number
  workKj: number
  aboveKj: number
  bestFiveMinutes: number
  normalPower: number
  hardest: number
  xlss: number
  xhss: number
  xpss: number
  xss: number
}

/** Adds a scored track up; averages are over recorded seconds. */
export function sumTrack(scored: Scored): Totals {
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
  const [xlss, xhss, xpss] = [scored.low, scored.high, scored.peak].map((column) =>
    length === 0 ? 0 : at(column, last),
  ) as [number, number, number]
  return {
    duration: Math.max(0, length - 2),
    elapsedSeconds: length === 0 ? 0 : Math.round((at(track.unixMs, last) - at(track.unixMs, 0)) / 1_000) + 1,
    maxPower: totals.max,
    avgPower: length === 0 ? 0 : totals.sum / length,
    maxCadence: totals.cadence,
    climbM: totals.climb,
    distanceKm: length === 0 ? 0 : (lastNumber(track.dist) ?? 0) / 1_000,
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

function lastNumber(column: Float64Array): number | undefined {
  return column.findLast((value) => !Number.isNaN(value))
}
