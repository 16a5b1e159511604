import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { mirrorActivity } from '../../../src/core/mirror/mirror-activity.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { fetchWanted } from '../../../src/core/mirror/sync-activities.ts'
import type { AccountService } from '../../../src/core/service/service.ts'
import { findActivity, findWanted } from '../../../src/core/store/activities/wanted.ts'
import { openStore, type Store } from '../../../src/core/store/store.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openRig, type Rig } from './rig.ts'
import { expectMirrored } from './truth.ts'

type Gate = { reached: Promise<void>; open(): void }

describe('two workers on one activity', () => {
  let rig: Rig
  let second: Store

  beforeEach(async () => {
    rig = await openRig({ activities: 2, env: { MUSETTE_HISTORY_START: '2022-01-01' } })
    second = openStore({ log: makeSilentLog() }, { connectionString: rig.databaseUrl })
  })
  afterEach(async () => {
    await second.close()
    await rig.close()
  })

  const wanted = async () => {
    const { accountId } = rig.account
    const [activity] = await rig.app.store.read((tx) =>
      findWanted(tx, { accountId, limit: 1, now: new Date() }),
    )
    if (!activity) throw new Error('an activity is wanted')
    return activity
  }
  const fetchBy = async (deps: MirrorDeps, activityId: number) => {
    const activity = await deps.store.read((tx) => findActivity(tx, activityId))
    if (!activity) throw new Error('the activity is known')
    return mirrorActivity(deps, { account: rig.account, activity })
  }
  const beside = (): MirrorDeps => ({ ...rig.app.mirror, store: second })

  /** The first worker's answers are held back between the service and the database until the gate is opened. */
  function heldBack(): { deps: MirrorDeps; gate: Gate } {
    let open: () => void = () => undefined
    let reach: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const reached = new Promise<void>((resolve) => {
      reach = resolve
    })
    const serviceOf: MirrorDeps['serviceOf'] = (account): AccountService => {
      const service = rig.app.mirror.serviceOf(account)
      return {
        ...service,
        async fetchActivity(...asked) {
          const answer = await service.fetchActivity(...asked)
          reach()
          await opened
          return answer
        },
      }
    }
    return { deps: { ...rig.app.mirror, serviceOf }, gate: { reached, open } }
  }

  it('drop the answer that was requested earlier when it comes later', async () => {
    await pollActivities(rig.app.mirror, { account: rig.account })
    const { activityId, path } = await wanted()
    const { deps, gate } = heldBack()
    const slow = fetchBy(deps, activityId)
    await gate.reached
    await rig.edit(path, { name: 'Newer', scale_power: 1.2 })
    expect(await fetchBy(beside(), activityId)).toBe('fetched')
    gate.open()
    expect(await slow).toBe('older')
    const [row] = await rig.sql`select name, detail_state from training.activities where path = ${path}`
    expect(row).toEqual({ name: 'Newer', detail_state: 'mirrored' })
    await rig.sync()
    await expectMirrored(rig)
  })

  it('lose no edit that is listed during the fetch', async () => {
    await pollActivities(rig.app.mirror, { account: rig.account })
    const { activityId, path } = await wanted()
    const { deps, gate } = heldBack()
    const slow = fetchBy(deps, activityId)
    await gate.reached
    await rig.edit(path, { scale_power: 1.3 })
    await pollActivities(beside(), { account: rig.account })
    gate.open()
    await slow
    const [row] = await rig.sql`select detail_state from training.activities where path = ${path}`
    expect(row).toEqual({ detail_state: 'wanted' })
    await rig.sync()
    await expectMirrored(rig)
  })

  it('write every sample once when they fetch at the same moment', async () => {
    await pollActivities(rig.app.mirror, { account: rig.account })
    const { activityId } = await wanted()
    const workers = [rig.app.mirror, beside(), rig.app.mirror, beside()]
    await Promise.all(workers.map((deps) => fetchBy(deps, activityId)))
    await rig.sync()
    await expectMirrored(rig)
    const curves =
      await rig.sql`select 1 from training.power_curves group by activity_id, duration_s having count(*) > 1`
    expect(curves).toEqual([])
  })

  it('leave one result when both fetch everything at once', async () => {
    await rig.add({ seconds: 300 })
    await pollActivities(rig.app.mirror, { account: rig.account })
    const input = { account: rig.account, concurrency: 2 }
    for (let times = 0; times < 3; times++) {
      const ends = [rig.app.mirror, beside()].map((deps) => fetchWanted(deps, input))
      for (const { failed } of await Promise.all(ends)) expect(failed).toBe(0)
      await expectMirrored(rig)
      await rig.sql`update training.activities set detail_state = 'wanted', summary_hash = null`
    }
    await rig.sync()
    await expectMirrored(rig)
  })

  it('accept the newer answer also when the clock was hours ahead at the older one', async () => {
    await pollActivities(rig.app.mirror, { account: rig.account })
    const { activityId, path } = await wanted()
    const ahead = { ...rig.app.mirror, now: () => new Date(Date.now() + 3 * 3_600_000) }
    expect(await fetchBy(ahead, activityId)).toBe('fetched')
    await rig.sql`update training.activities set wanted_at = wanted_at + interval '3 hours'`
    await rig.edit(path, { scale_power: 1.4 })
    expect(await rig.sync()).toMatchObject({ failed: 0, pending: 0 })
    await expectMirrored(rig)
  })
})
