import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../../mirror/rig.ts'
import { openScene, type Scene } from './scene.ts'

const revise = (scene: Scene, activityId: number, observedAt: string, changes: Record<string, unknown>) =>
  scene.sql`insert into training.activity_revisions (activity_id, observed_at, changes) values (${activityId}, ${observedAt},
    ${JSON.stringify(changes)})`

const minutesAfter = (moment: string, minutes: number) =>
  new Date(Date.parse(moment) + minutes * 60_000).toISOString()

describe('fitness_history', () => {
  it('is one series from before the first poll to the present training information', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    const signature = { sig_ftp: 250, sig_atc: 21_500, sig_pp: 900, prev_sig_ltp: 190 }
    await scene.ride(accountId, '2020-05-01T22:30:00Z', { zone: 'Asia/Tokyo', ...signature })
    await scene.ride(accountId, '2021-05-01T22:30:00Z', { zone: 'Asia/Tokyo' })
    await scene.query(
      `insert into training.training_info (account_id, observed_at, last_seen_at, ftp, hie, pp, ltp, status)
       values ($1, '2024-01-01T20:00Z', now(), 260, 22, 950, 200, 'fresh'), ($1, '2024-01-02T20:00Z', now(), null, null, null, null, 'tired')`,
      [accountId],
    )
    expect(await scene.view('fitness_history', 'order by at')).toMatchObject([
      { source: 'activity', day: '2020-05-02', ftp: 250, hie_kj: 21.5, pp: 900, ltp: 190 },
      {
        source: 'training_info',
        activity_id: null,
        day: '2024-01-02',
        ftp: 260,
        hie_kj: 22,
        pp: 950,
        ltp: 200,
      },
    ])
  })
})

describe('upload_journey', () => {
  it('leads from the file to the change of the signature', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    const scores = { name: 'Evening', xss: 80, prev_sig_ftp: 250, sig_ftp: 256 }
    const activityId = await scene.ride(accountId, '2024-05-01T22:30:00Z', { zone: 'Asia/Tokyo', ...scores })
    await scene.query(
      `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, reason, activity_id, seen_at, mirrored_at)
       values ($1, 'a', 'a.fit', 1, 'mirrored', null, $2, '2024-05-02T00:00Z', '2024-05-02T00:01:30Z'),
              ($1, 'b', 'b.fit', 1, 'refused', 'no FIT file', null, '2024-05-03T00:00Z', null)`,
      [accountId, activityId],
    )
    const rows = await scene.sql`select *, took::text from training.upload_journey order by content_id`
    expect(rows).toMatchObject([
      {
        state: 'mirrored',
        took: '00:01:30',
        activity_name: 'Evening',
        day: '2024-05-02',
        xss: 80,
        ftp_change: 6,
      },
      { state: 'refused', reason: 'no FIT file', took: null, activity_id: null, day: null, xss: null },
    ])
  })
})

describe('recalculations', () => {
  it('distinguishes a recalculation from edits, and first analyses from changes', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    for (let hour = 0; hour < 6; hour++) {
      const activityId = await scene.ride(accountId, `2024-05-0${hour + 1}T06:00:00Z`)
      await revise(scene, activityId, `2024-06-01T0${hour}:00:00Z`, { xss: [null, 80], sig_ftp: [null, 250] })
      await revise(scene, activityId, `2024-06-02T00:0${hour}:00Z`, {
        name: ['a', 'b'],
        started_at: ['a', 'b'],
      })
      // Hours apart: six edits, and not one pass.
      await revise(scene, activityId, `2024-06-03T${10 + 2 * hour}:00:00Z`, { xss: [80, 81] })
      // A pass of two hours, in which the second ride is changed twice and the third tells no load.
      const changes = hour === 2 ? { tl_ftp: [1, 2] } : { xss: [100, 90], sig_ftp: [250 + hour, 240 + hour] }
      await revise(scene, activityId, minutesAfter('2024-06-10T20:00:00Z', 20 * hour), changes)
      if (hour === 1) await revise(scene, activityId, '2024-06-10T21:55:00Z', { xss: [90, 60] })
    }
    expect(await scene.view('recalculations')).toEqual([
      {
        account_id: accountId,
        day_observed: '2024-06-10',
        activities: 6,
        xss_before: 500,
        xss_after: 420,
        xss_change: -80,
        ftp_before: 252.6,
        ftp_after: 242.6,
        first_ride: '2024-05-01',
        last_ride: '2024-05-06',
        observed_from: new Date('2024-06-10T20:00:00Z'),
        observed_to: new Date('2024-06-10T21:55:00Z'),
        account: 'default',
      },
    ])
  })

  describe('at the service', () => {
    let rig: Rig
    const sync = () => syncAccount(rig.app, { name: 'default' })
    const sums = async () =>
      (
        await rig.rows(
          `select count(*)::int as activities, sum(xss) as xss, avg(sig_ftp) as ftp, min(started_at_local)::date::text as first_ride,
             max(started_at_local)::date::text as last_ride from training.activities`,
        )
      )[0]

    beforeAll(async () => {
      rig = await openRig({ activities: 7, env: { MUSETTE_HISTORY_START: '2020-01-01' } })
      await sync()
    })
    afterAll(() => rig?.close())

    it('are one row each, with the load and the threshold power before and after', async () => {
      const before = await sums()
      expect(await rig.sql`select * from training.recalculations`).toEqual([])
      await rig.steer('POST', 'recalculate')
      await sync()
      const after = await sums()
      const [row, ...more] =
        await rig.sql`select *, first_ride::text, last_ride::text from training.recalculations`
      expect(more).toEqual([])
      expect(row).toMatchObject({
        activities: 7,
        first_ride: before?.first_ride,
        last_ride: before?.last_ride,
      })
      expect(row?.xss_before).toBeCloseTo(Number(before?.xss), 6)
      expect(row?.xss_after).toBeCloseTo(Number(after?.xss), 6)
      expect(row?.xss_change).toBeCloseTo(Number(after?.xss) - Number(before?.xss), 6)
      expect(row?.ftp_before).toBeCloseTo(Number(before?.ftp), 6)
      expect(row?.ftp_after).toBeCloseTo(Number(after?.ftp), 6)
      expect(row?.xss_change).not.toBe(0)
    })
  })
})
