import { Profile } from '@garmin/fitsdk'
import { openEncoder } from './make-rich-fit.ts'

const T0 = Date.UTC(2026, 5, 7, 6)
const { MesgNum } = Profile

/**
 * Makes a FIT activity of a swimmer whose strap stores its beats and sends them at the end (`hr` messages). The first message has the time
 * of an event, each later one eight events of 12 bits. `beats`: seconds from the start to each beat, and its heart rate.
 */
export function makeSwimFit(input: {
  seconds: number
  beats: ReadonlyArray<readonly [second: number, bpm: number]>
  every?: number
  hr?: number
  /** whether the device also writes the R-R intervals that it receives, one per record (`hrv` messages) */
  hrv?: boolean
}): Buffer {
  const { write, close } = openEncoder()
  const at = (second: number) => new Date(T0 + second * 1_000)
  write(MesgNum.FILE_ID, { type: 'activity', manufacturer: 'garmin', product: 3121, timeCreated: at(0) })
  for (let second = 0; second < input.seconds; second += input.every ?? 1) {
    write(MesgNum.RECORD, {
      ...{ timestamp: at(second), distance: second },
      ...(input.hr !== undefined && { heartRate: input.hr }),
    })
    if (input.hrv) write(MesgNum.HRV, { time: [1] })
  }
  // The clock of the strap started long before. Its low 12 bits overflow every four seconds.
  const ticks = (second: number) => 5_000_000 + Math.round(second * 1_024)
  const [first, ...more] = input.beats
  if (first) {
    const event = { filteredBpm: [first[1]], eventTimestamp: [ticks(first[0]) / 1_024] }
    const whole = Math.floor(first[0])
    write(MesgNum.HR, { timestamp: at(whole), fractionalTimestamp: first[0] - whole, ...event })
  }
  for (let from = 0; from + 8 <= more.length; from += 8) {
    const some = more.slice(from, from + 8)
    const bits = some.map(([second]) => ticks(second) & 0xfff)
    const eventTimestamp12 = [0, 2, 4, 6].flatMap((pair) => {
      const [low = 0, high = 0] = bits.slice(pair)
      return [low & 0xff, (low >> 8) | ((high & 0xf) << 4), high >> 4]
    })
    write(MesgNum.HR, { filteredBpm: some.map(([, bpm]) => bpm), eventTimestamp12 })
  }
  const sum = { timestamp: at(input.seconds), startTime: at(0), totalElapsedTime: input.seconds }
  write(MesgNum.SESSION, { ...sum, totalTimerTime: input.seconds, sport: 'swimming', messageIndex: 0 })
  return close()
}
