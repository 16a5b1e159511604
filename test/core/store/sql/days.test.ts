import { describe, expect, it } from 'vitest'
import { dayAfter, openScene } from './scene.ts'

describe('a day in the views', () => {
  it('is the local day of the ride, before and after midnight', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    await scene.ride(accountId, '2024-06-30T15:30:00Z', { zone: 'Asia/Tokyo', xss: 50 })
    await scene.ride(accountId, '2024-07-01T06:30:00Z', { zone: 'America/Los_Angeles', xss: 60 })
    await scene.ride(accountId, '2024-06-30T23:30:00Z', { zone: 'UTC', xss: 70 })
    expect(await scene.view('daily_load', `where activities > 0 order by day`)).toMatchObject([
      { day: '2024-06-30', activities: 2, xss: 130 },
      { day: '2024-07-01', activities: 1, xss: 50 },
    ])
    expect(await scene.view('weekly_summary', 'order by week')).toMatchObject([
      { week: '2024-06-24', activities: 2, xss: 130 },
      { week: '2024-07-01', activities: 1, xss: 50 },
    ])
  })

  it.each([
    {
      title: 'where the clocks skip midnight',
      zone: 'America/Sao_Paulo',
      at: '2018-11-04T05:00:00Z',
      day: '2018-11-04',
    },
    {
      title: 'where an hour comes twice',
      zone: 'Europe/Berlin',
      at: '2024-10-27T01:30:00Z',
      day: '2024-10-27',
    },
    {
      title: 'where an hour is missing',
      zone: 'Europe/Berlin',
      at: '2024-03-31T01:30:00Z',
      day: '2024-03-31',
    },
  ])('exists once, like its neighbours, $title, in any zone of the session', async ({ zone, at, day }) => {
    const scene = await openScene()
    const accountId = await scene.account()
    await scene.ride(accountId, at, { zone, xss: 10 })
    await scene.ride(accountId, `${dayAfter(day, -2)}T12:00:00Z`, { zone, xss: 10 })
    for (const session of ['UTC', zone]) {
      const rows = await scene.store.transaction(async (tx) => {
        await tx.client.query(`set local timezone to '${session}'`)
        const load = `select day::text, activities, xss from training.daily_load where day <= $1::date + 1 order by day`
        return (await tx.client.query(load, [day])).rows
      })
      expect(rows).toEqual([
        { day: dayAfter(day, -2), activities: 1, xss: 10 },
        { day: dayAfter(day, -1), activities: 0, xss: 0 },
        { day, activities: 1, xss: 10 },
        { day: dayAfter(day, 1), activities: 0, xss: 0 },
      ])
    }
  })

  it('leaves out a ride without a readable start', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    const lost = await scene.ride(accountId, '2024-05-01T06:00:00Z', { medal: 1, sig_ftp: 250, form: 1 })
    await scene.sql`update training.activities set started_at = null, started_at_local = null`
    for (const view of [
      'daily_load',
      'weekly_summary',
      'fitness_history',
      'form_history',
      'power_bests',
    ] as const) {
      expect(await scene.view(view)).toEqual([])
    }
    expect(await scene.view('records')).toMatchObject([{ activity_id: lost, day: null }])
  })
})

describe('today', () => {
  it('is the day in the time zone of the newest ride, and daily_load continues to it', async () => {
    const scene = await openScene()
    const [east, west] = [await scene.account('east'), await scene.account('west')]
    await scene.account('nowhere')
    await scene.ride(east, '2001-01-01T00:00:00Z', { zone: 'UTC' })
    await scene.ride(east, '2024-01-01T00:00:00Z', { zone: 'Pacific/Kiritimati' })
    await scene.ride(west, '2024-01-01T00:00:00Z', { zone: 'Pacific/Pago_Pago' })
    const rows = await scene.query(
      `select t.utc_offset::text, t.day = (now() at time zone 'UTC' + t.utc_offset)::date as holds, max(d.day) = t.day as ends
       from training.today t left join training.daily_load d using (account_id)
       group by t.account_id, t.utc_offset, t.day order by t.account_id`,
    )
    expect(rows).toEqual([
      { utc_offset: '14:00:00', holds: true, ends: true },
      { utc_offset: '-11:00:00', holds: true, ends: true },
      { utc_offset: '00:00:00', holds: true, ends: null },
    ])
  })

  it('is the day at home if set, with summer time, whatever the newest ride', async () => {
    const scene = await openScene()
    const account = await scene.account('east')
    await scene.ride(account, '2024-01-01T00:00:00Z', { zone: 'Pacific/Kiritimati' })
    await scene.sql`update training.accounts set timezone = 'Europe/Berlin', timezone_set_by = 'account'`
    expect(
      await scene.query(
        `select timezone, timezone_source, utc_offset = now() at time zone 'Europe/Berlin' - now() at time zone 'UTC' as holds
         from training.today`,
      ),
    ).toEqual([{ timezone: 'Europe/Berlin', timezone_source: 'setting', holds: true }])
  })

  it.each([
    ['+05:45', '+05:45', '<+05:45>-05:45', '05:45:00'],
    ['EDT', '-04:00', '<-04:00>+04:00', '-04:00:00'],
    ['Mars/Olympus', '+09:30', '<+09:30>-09:30', '09:30:00'],
    ['+00:00', '+00:00', 'UTC', '00:00:00'],
  ])(
    'keeps the offset of the newest ride where Postgres reads its zone %s otherwise',
    async (zone, offset, timezone, utcOffset) => {
      const scene = await openScene()
      const account = await scene.account()
      const ride = await scene.ride(account, '2024-01-01T00:00:00Z')
      await scene.sql`update training.activities set timezone = ${zone}, timezone_source = 'file',
         started_at_local = started_at at time zone 'UTC' + ${offset}::interval where activity_id = ${ride}`
      expect(await scene.sql`select timezone, timezone_source, utc_offset::text from training.today`).toEqual(
        [{ timezone, timezone_source: 'file', utc_offset: utcOffset }],
      )
    },
  )
})
