import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRig, type Rig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const ACTIVITIES = 5

describe('resync', () => {
  let rig: Rig
  const resync = (choice: { paths: string[] } | { since: Date }) => rig.resync(choice)

  beforeEach(async () => {
    rig = await openRig({ activities: ACTIVITIES, env: { MUSETTE_HISTORY_START: '2022-01-01' } })
    await rig.sync()
  })
  afterEach(() => rig.close())

  it('fetches the samples of the named activities again and rewrites them', async () => {
    const [one] = await rig.sql`select activity_id, path from training.activities order by started_at limit 1`
    await rig.sql`update training.samples set power = -1 where activity_id = ${one?.activity_id}`
    expect(await resync({ paths: [String(one?.path)] })).toEqual({
      marked: 1,
      fetched: 1,
      unchanged: 0,
      failed: 0,
      absent: 0,
    })
    await expectMirrored(rig)
  })

  it('fetches everything that started on a day or later', async () => {
    const rows = await rig.sql`select started_at from training.activities order by started_at desc`
    const since = rows[2]?.started_at as Date
    await rig.sql`update training.samples set hr = -1`
    expect(await resync({ since })).toMatchObject({ marked: 3, fetched: 3 })
    expect(await resync({ since: new Date(0) })).toMatchObject({ marked: ACTIVITIES, fetched: ACTIVITIES })
    await expectMirrored(rig)
  })

  it('marks nothing when a path is unknown', async () => {
    const [one] = await rig.sql`select path from training.activities limit 1`
    await expect(resync({ paths: [String(one?.path), 'nowhere'] })).rejects.toThrow('no activity nowhere')
    expect(await rig.sql`select 1 from training.activities where detail_state = 'wanted'`).toEqual([])
  })
})
