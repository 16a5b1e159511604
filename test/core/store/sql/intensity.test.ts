import { expect, it } from 'vitest'
import { normalizeIntensity } from '../../../../src/core/normalize/by-second.ts'
import type { Samples } from '../../../../src/core/store/samples/encode-samples.ts'
import { makeSamplesOf } from '../../../kit/samples.ts'
import { detailInput, detailRow, recordDetail } from '../detail.ts'
import { openScene } from './scene.ts'

it('at ingest an answer without samples keeps the counted seconds, one with samples replaces them', async () => {
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
  const zones = () => scene.sql`select ftp, power_z4_s, power_z7_s from training.activity_intensity`
  await record(0, makeSamplesOf([{ power: 200 }]), 200)
  await record(1, makeSamplesOf([]), 100)
  expect(await zones()).toEqual([{ ftp: 200, power_z4_s: 1, power_z7_s: 0 }])
  await record(2, makeSamplesOf([{ power: 200 }, { power: 201 }]), 100)
  expect(await zones()).toEqual([{ ftp: 100, power_z4_s: 0, power_z7_s: 2 }])
})
