import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { fetchWanted } from '../../../src/core/mirror/sync-activities.ts'
import { MINUTE } from '../../../src/kit/time.ts'
import { openRig, type Rig } from './rig.ts'

const ACTIVITIES = 3

describe('an activity that was updated within the lag', () => {
  let rig: Rig
  let aheadMs = 0
  let mirror: MirrorDeps
  /** Lets time pass, here and at the service. */
  const wait = async (ms: number) => {
    aheadMs += ms
    await rig.steer('PATCH', 'settings', { clock_skew_ms: aheadMs })
  }
  /** Polls and fetches; returns how many requests were made for activities. */
  const pass = async () => {
    await rig.requests()
    await pollActivities(mirror, { account: rig.account })
    await fetchWanted(mirror, { account: rig.account, concurrency: 2 })
    const requests = await rig.requests()
    return requests['GET /oauth/activity/:path'] ?? 0
  }
  const states = async () =>
    await rig.sql`select distinct detail_state, next_fetch_at is null as done from training.activities`

  beforeEach(async () => {
    aheadMs = 0
    rig = await openRig({ activities: 0, env: { MUSETTE_LAG: '1h' } })
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
    await pass()
    await wait(MINUTE)
    for (let index = 0; index < ACTIVITIES; index++) await rig.add({ seconds: 60 })
    expect(await pass()).toBe(ACTIVITIES)
    await wait(MINUTE)
    // Changed so shortly before the last poll that it may have come after it.
    await pass()
  })
  afterEach(() => rig.close())

  it('is fetched with growing pauses while no list shows a change, and a last time after the lag', async () => {
    const asked: number[] = []
    for (let minute = 0; minute < 120; minute += 5) {
      await wait(5 * MINUTE)
      asked.push(await pass())
    }
    expect(asked.reduce((sum, requests) => sum + requests, 0)).toBe(2 * ACTIVITIES)
    expect(await states()).toEqual([{ detail_state: 'mirrored', done: true }])
  })

  it('stays mirrored meanwhile', async () => {
    await wait(MINUTE)
    expect(await pass()).toBe(0)
    expect(await states()).toEqual([{ detail_state: 'mirrored', done: false }])
  })

  it('arrives at once when it is edited again with the same entry', async () => {
    await wait(MINUTE)
    const [{ path, avg_power: before } = {}] = await rig.sql`select path, avg_power from training.activities`
    await rig.edit(path, { scale_power: 1.5 })
    expect(await pass()).toBe(2)
    const [after] = await rig.sql`select avg_power from training.activities where path = ${path}`
    expect(after?.avg_power).toBeGreaterThan(Number(before))
  })

  it('arrives when the service dates an edit before the last poll', async () => {
    await wait(MINUTE)
    await pass()
    const [{ path, avg_power: before } = {}] = await rig.sql`select path, avg_power from training.activities`
    await rig.steer('PATCH', 'settings', { clock_skew_ms: aheadMs - 5 * MINUTE })
    await rig.edit(path, { scale_power: 1.5 })
    for (let minute = 0; minute < 40; minute += 10) {
      await wait(10 * MINUTE)
      await pass()
    }
    const [after] = await rig.sql`select avg_power from training.activities where path = ${path}`
    expect(after?.avg_power).toBeGreaterThan(Number(before))
  })

  it('is not fetched at each poll when it fails or awaits its samples', async () => {
    const [{ path } = {}] = await rig.sql`select path from training.activities`
    await rig.edit(path, { broken: 'html' })
    await wait(3 * MINUTE)
    await pass()
    await wait(MINUTE)
    // The edit that broke it counts as news once more.
    await pass()
    await wait(10_000)
    expect(await pass()).toBe(0)
  })
})
