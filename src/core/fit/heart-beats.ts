import { type FitFields, firstOf } from './fit-values.ts'
import { FIRST_ABSOLUTE_TIME } from './profile.ts'

/** Event times count this many units a second, and start again at zero after this many seconds. */
const TICKS_A_SECOND = 1_024
const ROLLOVER_S = 0x400000
const BITS_12 = 0xfff
/** A heart rate counts until the next beat, but at most five seconds, in steps of a quarter of a second. */
const STEP_S = 0.25
const MAX_STEPS = 20
/** Maximum number of heart rates: the beats and steps of five days. */
const MAX_RATES = 2_000_000

/**
 * Makes a reader of `hr` messages (FIT SDK, "HR messages"). Straps that store beats, for example in water, send the beats later. The first
 * message anchors an event in time; later messages hold only events, of 12 bits each.
 */
export function beatsReader() {
  const rates: Array<[timeS: number, bpm: number]> = []
  let anchor: { timeS: number; event: number } | undefined
  let ticks: number | undefined

  /** Returns the times of the events in a message by the clock of the strap, s. */
  const expand = ({ eventTimestamp, eventTimestamp12 }: FitFields): number[] => {
    const whole = [eventTimestamp ?? []].flat().flatMap((event) => (typeof event === 'number' ? [event] : []))
    const last = whole.at(-1)
    if (last !== undefined) ticks = Math.round(last * TICKS_A_SECOND)
    const bytes = [eventTimestamp12 ?? []].flat().map(Number)
    const packed = Array.from({ length: Math.floor((bytes.length * 2) / 3) }, (_, index) => {
      const [low = 0, high = 0] = bytes.slice(Math.floor(index * 1.5))
      const bits = index % 2 === 0 ? low | ((high & 0xf) << 8) : (low >> 4) | (high << 4)
      ticks = ticks === undefined ? bits : ticks + ((bits - ticks) & BITS_12)
      return ticks / TICKS_A_SECOND
    })
    return [...whole, ...packed]
  }
  const add = (timeS: number, bpm: number) => {
    const before = rates.at(-1)
    if (before) {
      const steps = Math.ceil(Math.abs(timeS - before[0]) / STEP_S) - 1
      for (let step = 1; step <= Math.min(steps, MAX_STEPS); step++)
        rates.push([before[0] + step * STEP_S, before[1]])
    }
    rates.push([timeS, bpm])
  }
  return {
    /** Reads the next message. Returns its fields with all events as `eventTimestamp`, and the time of its first beat in FIT seconds. */
    push(fields: FitFields, time: number | null): { fields: FitFields; time: number | null } {
      const events = expand(fields)
      const [first] = events
      if (first === undefined) return { fields, time }
      if (time !== null && time >= FIRST_ABSOLUTE_TIME)
        anchor = { timeS: time + Number(firstOf(fields.fractionalTimestamp) ?? 0), event: first }
      const { timeS, event: start } = anchor ?? { timeS: Number.NaN, event: 0 }
      const bpms = [fields.filteredBpm ?? []].flat()
      for (const [index, event] of events.entries()) {
        const since = event < start ? event + ROLLOVER_S - start : event - start
        const bpm = bpms[index]
        if (typeof bpm === 'number' && !Number.isNaN(timeS) && rates.length < MAX_RATES)
          add(timeS + since, bpm)
      }
      const own = time ?? (Number.isNaN(timeS) ? null : timeS + first - start)
      return { fields: { ...fields, eventTimestamp: events }, time: own }
    },
    /** Computes the heart rate of each record from the beats since the record before it, NaN without beats; null if the file has no beats. */
    merge(timesS: Float64Array): Float64Array | null {
      return rates.length > 0 ? mergeRates(timesS, rates) : null
    },
  }
}

/** Computes the same as HrMesgUtils.mergeHeartRates of the FIT SDK. */
function mergeRates(timesS: Float64Array, rates: ReadonlyArray<readonly [number, number]>): Float64Array {
  const merged = new Float64Array(timesS.length).fill(Number.NaN)
  let next = 0
  let start: number | undefined
  for (const [row, end] of timesS.entries()) {
    if (Number.isNaN(end)) continue
    start ??= end
    if (start === end) {
      start -= 1
      next = Math.max(next - 1, 0)
    }
    let [sum, count] = [0, 0]
    for (; next < rates.length; next++) {
      const [timeS, bpm] = rates[next] as readonly [number, number]
      if (timeS > end) {
        if (count > 0) merged[row] = Math.round(sum / count)
        start = end
        break
      }
      if (timeS > start) [sum, count] = [sum + bpm, count + 1]
    }
  }
  return merged
}
