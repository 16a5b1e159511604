import { describe, expect, it } from 'vitest'
import { dayAfter, openScene } from './scene.ts'

describe('a day in the views', () => {
  it.each([
    ['where the clocks skip midnight', 'America/Sao_Paulo', '2018-11-04T05:00:00Z', '2018-11-04'],
    ['where an hour repeats', 'Europe/Berlin', '2024-10-27T01:30:00Z', '2024-10-27'],
    ['where an hour is missing', 'Europe/Berlin', '2024-03-31T01:30:00Z', '2024-03-31'],
  ])('exists once %s, in any time zone of the session', async (_, zone, at, day) => {
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
})

it('an activity with a wrong clock adds one day, not all days in between', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  for (const year of ['0001', '1969', '2024', '9999'])
    await scene.ride(accountId, `${year}-05-01T12:00:00Z`, { zone: 'UTC', xss: 10 })
  const since1970 = "current_date - date '1970-01-01' + 1"
  const [found] = await scene.query(
    `select (select (count(*) - (${since1970}))::int from training.daily_load) as others, (select sum(activities)::int from training.daily_load) as activities,
       (select min(month) from training.mirror_health where item = 'month without activities') as first_month,
       (select min(day) from training.form_by_day) as first_day, (select (count(*) - (${since1970}))::int from training.form_by_day) as other_days`,
  )
  const first = '1970-01-01'
  expect(found).toEqual({ others: 3, activities: 4, first_month: first, first_day: first, other_days: 0 })
})

it.each([
  ['+05:45', '+05:45', '<+05:45>-05:45', '05:45:00'],
  ['EDT', '-04:00', '<-04:00>+04:00', '-04:00:00'],
  ['Mars/Olympus', '+09:30', '<+09:30>-09:30', '09:30:00'],
  ['+00:00', '+00:00', 'UTC', '00:00:00'],
])(
  'today keeps the offset of the newest ride if Postgres misreads its zone %s',
  async (zone, offset, timezone, utcOffset) => {
    const scene = await openScene()
    const account = await scene.account()
    const ride = await scene.ride(account, '2024-01-01T00:00:00Z')
    await scene.sql`update training.activities set timezone = ${zone}, timezone_source = 'file',
       started_at_local = started_at at time zone 'UTC' + ${offset}::interval where activity_id = ${ride}`
    expect(await scene.sql`select timezone, timezone_source, utc_offset::text from training.today`).toEqual([
      { timezone, timezone_source: 'file', utc_offset: utcOffset },
    ])
  },
)
