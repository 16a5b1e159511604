import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { fetchWanted } from '../../../src/core/mirror/sync-activities.ts'
import { MINUTE } from '../../../src/kit/time.ts'
import { useRig } from './rig.ts'

const ACTIVITIES = 3

describe('an activity that was updated within the lag', () => {
  const rig = useRig(
    { activities: 0, env: { MUSETTE_LAG: '1h' } },
    'training.activities, training.sync_cursors',
  )
  let aheadMs = 0
  let mirror: MirrorDeps
  /** Lets time pass, here and at the service. */
  const wait = async (ms: number) => {
    aheadMs += ms
    await rig.steer('PATCH', 'settings', { clock_skew_ms: aheadMs })
  }
  /** Polls and fetches; returns how many activities were requested. */
  const pass = async () => {
    await rig.requests()
    await pollActivities(mirror, { account: rig.account })
    await fetchWanted(mirror, { account: rig.account, concurrency: 2 })
    const requests = await rig.requests()
    return requests['GET /oauth/activity/:path'] ?? 0
  }
  /** The paths of this test's rides. */
  let paths: unknown[] = []
  const states = async () =>
    await rig.sql`select distinct detail_state, next_fetch_at is null as done from training.activities
       where path = any(${paths})`
  const powerOf = async (path: unknown) =>
    Number((await rig.sql`select avg_power from training.activities where path = ${path}`)[0]?.avg_power)

  beforeAll(() => {
    const now = () => new Date(Date.now() + aheadMs)
    const serviceOf: MirrorDeps['serviceOf'] = (account) => {
      const service = rig.app.mirror.serviceOf(account)
      const listActivities: typeof service.listActivities = async (...asked) => {
        const requestedAt = now()
        return { ...(await service.listActivities(...asked)), requestedAt }
      }
      return { ...service, listActivities }
    }
    mirror = { ...rig.app.mirror, now, serviceOf }
  })
  beforeEach(async () => {
    // Activities of earlier tests are then older than the lag.
    await wait(180 * MINUTE)
    await pass()
    await wait(MINUTE)
    paths = []
    for (let index = 0; index < ACTIVITIES; index++)
      paths.push(((await rig.add({ seconds: 60 })) as { path: unknown }).path)
    expect(await pass()).toBe(ACTIVITIES)
    await wait(MINUTE)
    // The change was so close to the last poll that it may have come after it.
    await pass()
  })

  it('is fetched with growing pauses while no list shows a change, and once after the lag', async () => {
    await wait(MINUTE)
    expect(await pass()).toBe(0)
    expect(await states()).toEqual([{ detail_state: 'mirrored', done: false }])
    const asked: number[] = []
    for (let minute = 0; minute < 120; minute += 5) {
      await wait(5 * MINUTE)
      asked.push(await pass())
    }
    expect(asked.reduce((sum, requests) => sum + requests, 0)).toBe(2 * ACTIVITIES)
    expect(await states()).toEqual([{ detail_state: 'mirrored', done: true }])
  })

  it('is updated if the service dates an edit before the last poll', async () => {
    await wait(MINUTE)
    await pass()
    const [path] = paths
    const before = await powerOf(path)
    await rig.steer('PATCH', 'settings', { clock_skew_ms: aheadMs - 5 * MINUTE })
    await rig.edit(path, { scale_power: 1.5 })
    for (let minute = 0; minute < 40; minute += 10) {
      await wait(10 * MINUTE)
      await pass()
    }
    expect(await powerOf(path)).toBeGreaterThan(before)
  })
})
