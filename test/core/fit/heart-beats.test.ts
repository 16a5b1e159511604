import { Decoder, Stream } from '@garmin/fitsdk'
import { describe, expect, it } from 'vitest'
import { readContents } from '../../../src/core/fit/fit-contents.ts'
import { makeSwimFit } from './make-swim-fit.ts'
import { FILE_ID_ACTIVITY, littleEndian, makeRandom, T0, wrap } from './wrap.ts'

/** The heart rate of each record as merged by @garmin/fitsdk, NaN without a heart rate. */
function mergeWithSdk(bytes: Uint8Array): number[] {
  const { messages, errors } = new Decoder(Stream.fromBuffer(bytes)).read()
  expect(errors).toEqual([])
  return (messages.recordMesgs ?? []).map(({ heartRate }) => Number(heartRate ?? Number.NaN))
}

describe('heart beats that a strap stored', () => {
  it('heart rate from beats equals what @garmin/fitsdk merges into the records', () => {
    const random = makeRandom(20_261_126)
    for (let round = 0; round < 30; round++) {
      const beats: Array<[number, number]> = []
      const seconds = 60 + Math.floor(random() * 200)
      for (let at = random() * 5; at < seconds; ) {
        beats.push([Math.round(at * 1_024) / 1_024, 60 + Math.floor(random() * 120)])
        at += 0.3 + random() * (random() < 0.05 ? 3.5 : 1)
      }
      const bytes = makeSwimFit({ seconds, beats, every: 1 + (round % 4) })
      const { beatsHr } = readContents(bytes).records
      expect([round, [...(beatsHr ?? [])]]).toEqual([round, mergeWithSdk(bytes)])
    }
  })

  it('heart rate from beats is unknown without beats, or if they have no time', () => {
    expect(readContents(makeSwimFit({ seconds: 60, beats: [] })).records.beatsHr).toBeNull()
    const record = [0x42, 0, 0, 20, 0, 1, 253, 4, 0x86, 0x02, ...littleEndian(T0)]
    const hr = [0x43, 0, 0, 132, 0, 2, 6, 2, 0x02, 10, 3, 0x0d, 0x03, 90, 91, 1, 0x20, 0]
    const { records, others, problem } = readContents(wrap([...FILE_ID_ACTIVITY, ...record, ...hr]))
    expect([records.beatsHr, problem]).toEqual([null, null])
    expect(others.at(-1)?.fields).toEqual({
      ...{ filteredBpm: [90, 91], eventTimestamp12: [1, 32, 0], eventTimestamp: [1 / 1_024, 2 / 1_024] },
    })
  })
})
