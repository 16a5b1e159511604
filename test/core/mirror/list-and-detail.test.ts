import { beforeEach, describe, expect, it } from 'vitest'
import { reconcileActivities } from '../../../src/core/mirror/reconcile-activities.ts'
import { useRig } from './rig.ts'

const TORONTO = { date: '2024-05-01 22:00:00.000000', timezone_type: 3, timezone: 'America/Toronto' }
const UTC = { date: '2024-05-02 02:00:00.000000', timezone_type: 3, timezone: 'UTC' }
const ENTRY = { path: 'p1', name: 'Ride', description: 'Flat', activity_type: null, start_date: UTC }
const DETAIL = {
  ...{ success: true, name: 'Ride', description: 'Flat' },
  summary: { activity_type: 'Cycling', start_date: TORONTO, xss: 80 },
  session_data: [{ unix_time: Date.parse('2024-05-02T02:00:00Z'), power: 100 }],
}

describe('an activity whose list entry and detail differ', () => {
  const sync = (full = false) => rig.sync({ full })
  const say = async ({ entry, detail }: { entry?: object; detail?: object }) => {
    await rig.heal()
    await rig.answer('^/oauth/activity$', { success: true, activities: [{ ...ENTRY, ...entry }] })
    await rig.answer('^/oauth/activity/', { ...DETAIL, ...detail })
  }
  const row = async () =>
    (
      await rig.sql`select name, description, activity_type, timezone, started_at_local::text as local, detail_state
         from training.activities`
    )[0]
  const revisions = async () =>
    (await rig.sql`select changes from training.activity_revisions order by observed_at`).map(
      ({ changes }) => changes,
    )
  const asked = async () => (await rig.requests())['GET /oauth/activity/:path'] ?? 0
  const AS_DETAIL = {
    ...{ name: 'Ride', description: 'Flat', activity_type: 'Cycling', detail_state: 'mirrored' },
    ...{ timezone: 'America/Toronto', local: '2024-05-01 22:00:00' },
  }

  const rig = useRig({ activities: 0 }, 'training.activities, training.sync_cursors')
  beforeEach(async () => {
    await say({})
    await sync()
    await asked()
  })

  it('keeps the day and type of the detail; comparing lists again makes no change', async () => {
    expect(await row()).toEqual(AS_DETAIL)
    const { mirror } = rig.app
    const compare = () => reconcileActivities(mirror, { account: rig.account })
    expect(await compare()).toMatchObject({ listed: 1, marked: 0 })
    await sync(true)
    expect(await compare()).toMatchObject({ listed: 1, marked: 0 })
    expect(await row()).toEqual(AS_DETAIL)
    expect(await revisions()).toEqual([])
  })

  const NOTE = 'No BT yet. Using first signature'
  it.each<[string, object, object, unknown[]]>([
    ['the detail', {}, { breakthrough: -1, sig: { manual: true, error: NOTE } }, [true, true, NOTE]],
    ['the list', { sig: { manual: false, error: NOTE } }, { breakthrough: 0 }, [false, false, NOTE]],
    ['neither', { sig: { error: '' } }, { sig: { manual: 'perhaps', error: false } }, [null, null, null]],
  ])('has the signature notes of %s, which are no drift', async (_, entry, summary, expected) => {
    await say({ entry, detail: { summary: { ...DETAIL.summary, ...summary } } })
    await sync(true)
    const [notes] = await rig.sql`select near_breakthrough, sig_manual, sig_error from training.activities`
    expect(Object.values(notes ?? {})).toEqual(expected)
    expect(await rig.sql`select field from training.drift where field like '%sig.%'`).toEqual([])
  })

  it('accepts a rename in the list while the detail has the old name', async () => {
    await say({ entry: { name: 'Commute' } })
    await sync(true)
    expect(await row()).toEqual({ ...AS_DETAIL, name: 'Commute' })
    expect(await asked()).toBe(1)
    await say({ entry: { name: 'Commute' }, detail: { summary: { ...DETAIL.summary, xss: 81 } } })
    await rig.sql`update training.activities set detail_state = 'wanted'`
    await sync()
    expect(await row()).toEqual({ ...AS_DETAIL, name: 'Commute' })
    expect(await revisions()).toEqual([{ name: ['Ride', 'Commute'] }, { xss: [80, 81] }])
  })

  it('accepts a rename in the detail while the list has the old name', async () => {
    await say({ detail: { name: 'Commute', description: null } })
    await rig.sql`update training.activities set detail_state = 'wanted'`
    await sync(true)
    await sync(true)
    expect(await row()).toEqual({ ...AS_DETAIL, name: 'Commute', description: null })
    expect(await revisions()).toEqual([{ name: ['Ride', 'Commute'], description: ['Flat', null] }])
  })

  it('is fetched again only if its list entry has changed', async () => {
    await say({ entry: { start_date: { ...UTC, date: '2024-05-02 03:00:00.000000' } } })
    await sync(true)
    expect(await asked()).toBe(1)
    expect(await row()).toEqual(AS_DETAIL)
    expect(await revisions()).toEqual([])
  })

  it('keeps the value of the detail if the list no longer has it', async () => {
    await say({ entry: { name: null, description: null, start_date: null } })
    await sync(true)
    expect(await row()).toEqual(AS_DETAIL)
    expect(await revisions()).toEqual([])
  })

  it.each<[string, () => Promise<unknown>]>([
    ['a whole list', () => sync(true)],
    ['a resync', () => rig.resync({ paths: ['p1'] })],
  ])('has only a name, description and type that the service sent, after %s', async (_, mend) => {
    for (const value of ["'nobody said so'", 'null']) {
      await rig.rows(
        `update training.activities set (name, description, activity_type) = (${value}, ${value}, ${value})`,
      )
      await mend()
      expect(await row()).toEqual(AS_DETAIL)
    }
  })

  it('uses the value of the list if the detail has none', async () => {
    await say({ detail: { name: null, description: undefined, summary: { xss: 82 } } })
    await rig.sql`update training.activities set detail_state = 'wanted'`
    await sync()
    await say({
      entry: { name: 'Commute', activity_type: 'Running' },
      detail: { name: null, description: undefined, summary: { xss: 82 } },
    })
    await sync(true)
    expect(await row()).toMatchObject({ name: 'Commute', activity_type: 'Running', timezone: 'UTC' })
  })
})
