import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Daemon, openDaemon } from '../../../src/program/daemon/daemon.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { eventually } from '../../kit/eventually.ts'
import { openRig, type Rig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const ACTIVITIES = 16

describe('a daemon', () => {
  let rig: Rig
  let daemon: Daemon
  const stop = new AbortController()

  beforeAll(async () => {
    rig = await openRig({
      activities: ACTIVITIES,
      env: {
        MUSETTE_HISTORY_START: '2022-01-01',
        MUSETTE_POLL_EVERY: '1s',
        MUSETTE_RECONCILE_EVERY: '2s',
        // With a longer lag every poll would list the recalculated history again and slow the test down.
        MUSETTE_LAG: '1s',
        MUSETTE_CONCURRENCY: '1',
        MUSETTE_HTTP: 'off',
      },
    })
    await rig.sync()
    const { config, log } = rig.app
    daemon = await openDaemon(config, log, { roles: ['scheduler', 'worker'], signal: stop.signal })
  })
  beforeEach(() => eventually(async () => (await count(`detail_state = 'mirrored'`)) === ACTIVITIES))
  afterAll(async () => {
    await daemon?.close()
    await rig.close()
  })

  const count = async (rule: string) => {
    const [row] = await rig.rows(`select count(*)::int as n from training.activities where ${rule}`)
    return Number(row?.n)
  }

  // A poll that reaches back by the lag makes an activity wanted again for a moment.
  const expectMirroredSoon = () => eventually(() => expectMirrored(rig).then(() => true), { everyMs: 200 })

  it('fetches a wanted activity whose job was lost', async () => {
    // The list has no change that would queue them again.
    await rig.sql`update training.activities set detail_state = 'wanted', summary_hash = null where activity_id <= 3`
    await eventually(async () => (await count(`detail_state = 'mirrored'`)) === ACTIVITIES)
    const [path] = await rig.paths()
    await rig.steer('DELETE', `activities/${path}`)
    await eventually(async () => (await count('absent_since is not null')) === 1)
    await rig.steer('POST', `activities/${path}/revive`)
    await eventually(async () => (await count('absent_since is not null')) === 0)
    await expectMirroredSoon()
  })

  it('fetches a new ride first while the whole history is refetched, and shows the time left', async () => {
    // Recent activities count as new; here the history is older.
    await rig.sql`update training.activities set started_at = started_at - interval '60 days'`
    await rig.steer('PATCH', 'settings', { latency_ms: 250 })
    const [begun] = await rig.sql`select now() as at`
    await rig.steer('POST', 'recalculate')
    await eventually(async () => (await count(`detail_state = 'wanted'`)) > 0)
    await rig.add({ name: 'New', seconds: 300 })
    await eventually(async () => (await count(`name = 'New' and detail_state = 'mirrored'`)) === 1)
    // A poll may make fetched activities wanted again, so their state does not show which came first.
    const left = await rig.sql`select from training.activities where fetched_at < ${begun?.at}`
    expect(left.length).toBeGreaterThan(ACTIVITIES / 2)
    // Between two polls, nothing may be wanted for a moment.
    await eventually(async () => {
      const [account] = (await findStatus(daemon.app)).accounts
      return (account?.fetched_per_minute ?? 0) > 0 && (account?.seconds_to_go ?? 0) > 0
    })
    await rig.steer('PATCH', 'settings', { latency_ms: 0 })
    await eventually(async () => (await count(`detail_state = 'mirrored'`)) === ACTIVITIES + 1)
    await expectMirroredSoon()
  })
})
