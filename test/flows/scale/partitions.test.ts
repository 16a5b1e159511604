import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { expectMirrored } from '../../core/mirror/truth.ts'

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 6 })
})
afterEach(() => rig.close())

it('the samples can be partitioned by docs/partition-samples.sql, and are mirrored as before', async () => {
  await rig.sync()
  const told = readFileSync('docs/partition-samples.sql', 'utf8')
  // Partitions of a few rides instead of a million.
  await rig.rows(told.replaceAll('1000000', '4'))
  await expectMirrored(rig)
  await rig.steer('POST', 'recalculate')
  expect(await rig.sync()).toMatchObject({ fetched: 6, failed: 0 })
  await expectMirrored(rig)
  const plan = await rig.rows('explain select * from training.samples where activity_id = 3')
  expect(JSON.stringify(plan)).toContain('samples_0')
  expect(JSON.stringify(plan)).not.toContain('samples_1')
})
