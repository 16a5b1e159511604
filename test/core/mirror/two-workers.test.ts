import { expect, it } from 'vitest'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { mirrorActivity } from '../../../src/core/mirror/mirror-activity.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { findWanted } from '../../../src/core/store/activities/wanted.ts'
import { useRig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const rig = useRig({ activities: 2, longestActivitySeconds: 60 })

// test/core/store/detail.test.ts covers that a response requested earlier is dropped.
it('two workers on one activity lose no edit that is listed during a fetch', async () => {
  const { account, app } = rig
  await rig.sync()
  await rig.add({ seconds: 60 })
  await pollActivities(app.mirror, { account })
  const [activity] = await app.store.read((tx) => findWanted(tx, { ...account, limit: 1, now: new Date() }))
  if (!activity) throw new Error('an activity is wanted')
  const serviceOf: MirrorDeps['serviceOf'] = (of) => {
    const service = app.mirror.serviceOf(of)
    return {
      ...service,
      /** The other worker lists an edit while this worker's response is on its way to the database. */
      async fetchActivity(...asked) {
        const answer = await service.fetchActivity(...asked)
        await rig.edit(activity.path, { scale_power: 1.3 })
        await pollActivities(app.mirror, { account })
        return answer
      },
    }
  }
  await mirrorActivity({ ...app.mirror, serviceOf }, { account, activity })
  const [row] = await rig.sql`select detail_state from training.activities where path = ${activity.path}`
  expect(row).toEqual({ detail_state: 'wanted' })
  await rig.sync()
  await expectMirrored(rig)
})
