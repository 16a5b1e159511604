import { describe, expect, it } from 'vitest'
import { normalizeIntensity } from '../../../../src/core/normalize/intensity.ts'
import type { Samples } from '../../../../src/core/store/samples/encode-samples.ts'
import { makeSamplesOf, type Second } from '../../../kit/samples.ts'
import { detailInput, detailRow, recordDetail } from '../detail.ts'
import { openScene } from './scene.ts'

const many = (count: number, second: Second): Second[] => Array.from({ length: count }, () => second)

describe('the seconds of a ride', () => {
  it('are in seven zones of that day’s threshold power, with exact borders', () => {
    const watts = [0, 109, 110, 149, 150, 179, 180, 209, 210, 239, 240, 300, 301]
    const intensity = normalizeIntensity(makeSamplesOf(watts.map((power) => ({ power }))), 200)
    expect(intensity).toMatchObject({ ftp: 200, powerZonesS: [2, 2, 2, 2, 2, 2, 1], aboveFtpS: 6 })
  })

  it('count once, by their last sample, and not in a gap of the recording', () => {
    const seconds = [
      { at: 0, power: 100 },
      { at: 0.4, power: 300 },
      { at: 0.9, power: 190 },
      { at: 500, power: 190 },
    ]
    expect(normalizeIntensity(makeSamplesOf(seconds), 200)?.powerZonesS).toEqual([0, 0, 0, 2, 0, 0, 0])
  })

  it('are near the available power from 90 % of it on, and unknown without it', () => {
    const seconds = [{ power: 900, mpa: 1_000 }, { power: 899, mpa: 1_000 }, { power: 900 }]
    expect(normalizeIntensity(makeSamplesOf(seconds), null)).toMatchObject({
      nearMpaS: 1,
      powerZonesS: null,
      aboveFtpS: null,
    })
    expect(normalizeIntensity(makeSamplesOf([{ power: 900 }]), 200)?.nearMpaS).toBeNull()
  })

  it('are counted by the unsmoothed power if available', () => {
    const seconds = [{ power: 300, raw: 100 }, { power: 300 }]
    expect(normalizeIntensity(makeSamplesOf(seconds), 200)?.powerZonesS).toEqual([1, 0, 0, 0, 0, 0, 0])
  })

  it('are counted for every heart rate; a spike of the sensor is not a peak', () => {
    const seconds = [
      ...many(20, { hr: 3 }),
      ...many(11, { hr: 5.7 }),
      ...many(9, { hr: 7 }),
      { hr: 0 },
      { hr: 255 },
    ]
    expect(normalizeIntensity(makeSamplesOf(seconds), 200)).toEqual({
      ftp: 200,
      powerZonesS: null,
      aboveFtpS: null,
      nearMpaS: null,
      hrPeak: 5,
      hrAtLeastS: [40, 40, 40, 20, 20, 9, 9],
      spacingS: 1,
    })
    expect(normalizeIntensity(makeSamplesOf(many(9, { hr: 7 })), 200)?.hrPeak).toBeNull()
  })

  it('count each sample for the seconds until the next one, even five', () => {
    const every5 = many(60, { power: 205, mpa: 210, hr: 100 }).map((one, index) => ({
      ...one,
      at: index * 5,
    }))
    const pause = every5.map((one, index) => ({ ...one, at: one.at + (index < 30 ? 0 : 600) }))
    for (const samples of [makeSamplesOf(every5), makeSamplesOf(pause)]) {
      expect(normalizeIntensity(samples, 200)).toMatchObject({
        powerZonesS: [0, 0, 0, 300, 0, 0, 0],
        ...{ aboveFtpS: 300, nearMpaS: 300, hrPeak: 100, spacingS: 5 },
      })
    }
  })

  it('are undefined without samples', () => {
    expect(normalizeIntensity(makeSamplesOf([]), 200)).toBeUndefined()
  })
})

describe('at ingest', () => {
  it('an answer without samples keeps the counted seconds, one with samples replaces them', async () => {
    const scene = await openScene()
    const activityId = await scene.ride(await scene.account(), '2024-05-01T06:00:00Z')
    const record = (minute: number, samples: Samples, sigFtp: number) =>
      scene.store.transaction((tx) =>
        recordDetail(
          tx,
          detailInput(activityId, new Date(Date.UTC(2030, 0, 1, 0, minute)), {
            row: detailRow({ sigFtp }),
            samples,
            intensity: normalizeIntensity(samples, sigFtp),
          }),
        ),
      )
    const zones = () => scene.query('select ftp, power_z4_s, power_z7_s from training.activity_intensity')
    await record(0, makeSamplesOf([{ power: 200 }]), 200)
    await record(1, makeSamplesOf([]), 100)
    expect(await zones()).toEqual([{ ftp: 200, power_z4_s: 1, power_z7_s: 0 }])
    await record(2, makeSamplesOf([{ power: 200 }, { power: 201 }]), 100)
    expect(await zones()).toEqual([{ ftp: 100, power_z4_s: 0, power_z7_s: 2 }])
  })
})
