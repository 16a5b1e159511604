import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { mirrorActivity } from '../../../src/core/mirror/mirror-activity.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import type { AccountService } from '../../../src/core/service/service.ts'
import { findActivity, findWanted } from '../../../src/core/store/activities/wanted.ts'
import { openStore, type Store } from '../../../src/core/store/store.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { useRig } from './rig.ts'
import { expectMirrored } from './truth.ts'

type Gate = { reached: Promise<void>; open(): void }

describe('two workers on one activity', () => {
  let second: Store

  const rig = useRig({ activities: 2, longestActivitySeconds: 60 })
  beforeAll(async () => {
    second = openStore({ log: makeSilentLog() }, { connectionString: rig.databaseUrl })
  })
  afterAll(() => second.close())

  /** A new activity, which the mirror knows from the list. */
  const wanted = async () => {
    const { accountId } = rig.account
    await rig.sync()
    await rig.add({ seconds: 60 })
    await pollActivities(rig.app.mirror, { account: rig.account })
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
})
