import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../src/app/sync-account.ts'
import { openRig, type Rig } from '../../mirror/rig.ts'
import { fetchTruth } from '../../mirror/truth.ts'
import { CLAIMS } from './claims.ts'
import { type Known, toKnown } from './expected.ts'

describe('the views over a mirrored history', () => {
  let rig: Rig
  let rides: Known[]
  const sync = (full: boolean) => syncAccount(rig.app, { name: 'default', full, acceptRemovals: true })
  const learn = async () => {
    rides = (await fetchTruth(rig.sandboxUrl)).map(toKnown)
  }

  beforeAll(async () => {
    rig = await openRig({ activities: 14, env: { MUSETTE_HISTORY_START: '2020-01-01' } })
    const add = (wish: Record<string, unknown>) => rig.steer('POST', 'activities', wish)
    await add({ started_at: '2024-06-30T23:30:00Z', zone: { style: 3, name: 'Asia/Tokyo' } })
    await add({ started_at: '2025-01-01T02:00:00Z', kind: 'sprints', zone: { style: 1, name: 'UTC-8' } })
    await add({ kind: 'race', activity_type: 'Running', late: true, summary: { medal: 3 } })
    await add({ kind: 'intervals', path: 'breakthrough', summary: { breakthrough: 1 } })
    await sync(false)
    await learn()
  })
  afterAll(() => rig?.close())

  it.each(Object.entries(CLAIMS))('%s', (_, claim) => claim(rig, rides))

  describe('when the service lists a ride no more', () => {
    beforeAll(async () => {
      const gone = rides.filter(({ type }, index) => type === 'Running' || index % 5 === 4)
      for (const { path } of gone) await rig.steer('DELETE', `activities/${path}`)
      await sync(true)
      const before = rides.length
      await learn()
      expect(rides.length).toBe(before - gone.length)
    })

    it.each(Object.entries(CLAIMS))('%s', (_, claim) => claim(rig, rides))
  })
})
