import { describe, expect, it } from 'vitest'
import { useRig } from './rig.ts'
import { expectMirrored } from './truth.ts'

const ACTIVITIES = 14

// list-changes.test.ts tests which requests are made, and that they list everything.
describe('a service that cuts its lists', () => {
  const rig = useRig({ activities: ACTIVITIES, env: { MUSETTE_HISTORY_START: '2022-01-01' } })
  const sync = (full = false) => rig.sync({ full })
  const cap = (list_cap: number | null) => rig.steer('PATCH', 'settings', { list_cap })
  const remembered = async () => (await rig.sql`select list_cap from training.sync_cursors`)[0]?.list_cap

  it('is detected by the first cut poll, even if it starts cutting late', async () => {
    await sync()
    expect(await remembered()).toBe(null)
    for (const length of [4, 2]) {
      await cap(length)
      await rig.steer('POST', 'recalculate')
      expect(await sync()).toMatchObject({ listed: ACTIVITIES, fetched: ACTIVITIES })
      expect(await remembered()).toBe(length)
    }
    await expectMirrored(rig)
    // Nothing is marked absent, and the service is trusted again once it stops cutting.
    for (const length of [2, null]) {
      await cap(length)
      expect(await sync(true)).toMatchObject({ listed: ACTIVITIES, absent: 0, failed: 0 })
      expect(await remembered()).toBe(length)
    }
  })

  it('leaves the cursor unmoved and is logged if it cuts the list of one second', async () => {
    await cap(2)
    await sync()
    const cursor = () => rig.sql`select updated_from from training.sync_cursors`
    const before = await cursor()
    for (const name of ['one', 'two', 'three'])
      await rig.add({ name, seconds: 60, started_at: '2024-05-05T05:05:05Z' })
    expect(await sync()).toMatchObject({ failed: 1 })
    expect(await cursor()).toEqual(before)
    expect(rig.log.lines.some(({ level, windows }) => level === 'error' && Array.isArray(windows))).toBe(true)
    expect(await sync(true)).toMatchObject({ failed: 1, absent: 0 })
    await cap(null)
    await sync(true)
    await expectMirrored(rig)
  })
})
