import { expect, it } from 'vitest'
import { useRig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const rig = useRig({ activities: 4, longestActivitySeconds: 60 })

it('resync refetches the named activities, or all since a day, with their samples', async () => {
  await rig.sync()
  const [first = '', , third = ''] = await rig.paths()
  const spoil = () => rig.sql`update training.samples set power = -1`
  await spoil()
  const one = { marked: 1, fetched: 1, unchanged: 0, failed: 0, absent: 0 }
  expect(await rig.resync({ paths: [first] })).toEqual(one)
  expect(await rig.sql`select distinct activity_id from training.samples where power = -1`).toHaveLength(3)
  await spoil()
  const [row] = await rig.sql`select started_at from training.activities where path = ${third}`
  expect(await rig.resync({ since: row?.started_at as Date })).toMatchObject({ marked: 3, fetched: 3 })
  expect(await rig.resync({ since: new Date(0) })).toMatchObject({ marked: 4, fetched: 4 })
  await expectMirrored(rig)
  await expect(rig.resync({ paths: [first, 'nowhere'] })).rejects.toThrow('no activity nowhere')
  expect(await rig.sql`select 1 from training.activities where detail_state = 'wanted'`).toEqual([])
})
