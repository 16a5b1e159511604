import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRig, type Rig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const ACTIVITIES = 14
const CAP = 4

describe('a service that cuts its lists', () => {
  let rig: Rig
  const sync = (full = false) => rig.sync({ full })
  const cap = (list_cap: number | null) => rig.steer('PATCH', 'settings', { list_cap })
  const remembered = async () => (await rig.sql`select list_cap from training.sync_cursors`)[0]?.list_cap
  const listRequests = async () => {
    const requests = await rig.requests()
    return requests['GET /oauth/activity'] ?? 0
  }

  beforeEach(async () => {
    rig = await openRig({ activities: ACTIVITIES, env: { MUSETTE_HISTORY_START: '2022-01-01' } })
  })
  afterEach(() => rig.close())

  it('is detected by the first poll, and everything is mirrored', async () => {
    await cap(CAP)
    expect(await sync()).toMatchObject({ listed: ACTIVITIES, fetched: ACTIVITIES, failed: 0 })
    expect(await remembered()).toBe(CAP)
    await expectMirrored(rig)
  })

  it('that begins to cut later is detected by the next cut poll', async () => {
    await sync()
    expect(await remembered()).toBe(null)
    await cap(CAP)
    await rig.steer('POST', 'recalculate')
    expect(await sync()).toMatchObject({ listed: ACTIVITIES, fetched: ACTIVITIES })
    expect(await remembered()).toBe(CAP)
    await cap(2)
    await rig.steer('POST', 'recalculate')
    expect(await sync()).toMatchObject({ listed: ACTIVITIES, fetched: ACTIVITIES })
    expect(await remembered()).toBe(2)
    await expectMirrored(rig)
  })

  it('marks nothing as absent, and is trusted again when it stops', async () => {
    await sync()
    await cap(CAP)
    expect(await sync(true)).toMatchObject({ listed: ACTIVITIES, absent: 0, failed: 0 })
    expect(await remembered()).toBe(CAP)
    await cap(null)
    expect(await sync(true)).toMatchObject({ listed: ACTIVITIES, absent: 0, failed: 0 })
    expect(await remembered()).toBe(null)
  })

  it('gets one request when nothing has changed', async () => {
    await cap(CAP)
    await sync()
    await rig.requests()
    expect(await sync()).toMatchObject({ listed: 0 })
    expect(await listRequests()).toBe(1)
  })

  it('costs a few requests once when it does not cut', async () => {
    await rig.requests()
    await sync()
    const years = new Date(Date.now() + 2 * 86_400_000).getUTCFullYear() - 2022 + 1
    expect(await listRequests()).toBe(1 + 2 + years)
  })

  it('keeps the cursor, and says so, while one second has more activities than a list', async () => {
    await cap(2)
    await sync()
    const [before] = await rig.sql`select updated_from from training.sync_cursors`
    for (const name of ['one', 'two', 'three']) {
      await rig.add({ name, seconds: 60, started_at: '2024-05-05T05:05:05Z' })
    }
    expect(await sync()).toMatchObject({ failed: 1 })
    const [after] = await rig.sql`select updated_from from training.sync_cursors`
    expect(after).toEqual(before)
    expect(rig.log.lines.some(({ level, windows }) => level === 'error' && Array.isArray(windows))).toBe(true)
    expect(await sync(true)).toMatchObject({ failed: 1, absent: 0 })
    await cap(null)
    await sync(true)
    await expectMirrored(rig)
  })
})
