import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { findFitness } from '../../../src/features/dashboard/pages/fitness/queries.ts'
import { findWeekDays } from '../../../src/features/dashboard/pages/today/account-day.ts'
import { findTotals } from '../../../src/features/dashboard/pages/totals/queries.ts'
import { openScene } from '../../core/store/sql/scene.ts'

it('the recommended load of a day is the first of that day, even after a ride', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  await scene.query(`update training.accounts set timezone = 'America/Toronto'`)
  const [{ monday } = {}] = await scene.query(
    `select date_trunc('week', day::timestamp)::date as monday from training.today`,
  )
  // Targets in last week: when each was first and last seen, in local time.
  const seen: Array<[from: string, to: string, target: number | null]> = [
    ['0 days 06:00', '0 days 09:00', 60],
    ['0 days 10:00', '0 days 23:30', 5],
    ['1 day 00:30', '1 day 07:00', 50],
    ['1 day 08:00', '1 day 20:00', null],
    ['1 day 21:00', '3 days 22:00', 10],
    ['5 days 12:00', '5 days 13:00', 40],
    ['5 days 14:00', '6 days 23:59', 0],
  ]
  for (const [from, to, target] of seen)
    await scene.query(
      `insert into training.training_info (account_id, observed_at, last_seen_at, target_total, target_low)
       select $1, ($2::date - 7 + $3::interval) at time zone 'America/Toronto', ($2::date - 7 + $4::interval) at time zone 'America/Toronto', $5, 1`,
      [accountId, monday, from, to, target],
    )
  const days = await scene.view('recommended_load', 'order by day')
  const plain = days.map(({ xss, day, told_on }) => `${xss} ${day === told_on ? 'told' : 'kept'}`)
  // No poll on the fifth day; the days of this week have the first target of the last day.
  const told = ['60 told', '50 told', '10 told', '10 told', '10 kept', '40 told', '0 told']
  expect(plain).toEqual([...told, ...Array(7).fill('0 kept')])
  const week = await scene.store.read((tx) => findWeekDays(tx, accountId))
  expect(week.map((day) => day.recommended_xss)).toEqual([0, 0, 0, 0, 0, 0, 0])
  await scene.ride(accountId, `${monday}T12:00:00Z`, { xss: 1 })
  await scene.query(
    `update training.activities set started_at = started_at - interval '7 days', started_at_local = started_at_local - interval '7 days'`,
  )
  const page = await findFitness({ store: scene.store }, { accountId })
  expect(page?.weeks.map(({ recommended }) => recommended)).toEqual([180, 0])
  const [asked] = await scene.query(
    `select sum(r.xss) as recommended from training.daily_load d join training.recommended_load r using (account_id, day) where told_on = day`,
  )
  expect(asked?.recommended).toBe(170)
})

it('loads and form have a value on every day, and the ramp in a rest week', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  await scene.query(`update training.accounts set timezone = 'America/Toronto'`)
  const told = { tl_hie: 0, tl_pp: 0, rl_hie: 0, rl_pp: 0 }
  await scene.ride(accountId, '2026-06-01T06:00:00Z', { ...told, tl_ftp: 50, rl_ftp: 70, form: 4 })
  await scene.ride(accountId, '2026-06-01T16:00:00Z', { ...told, tl_ftp: 60, rl_ftp: 80, form: -20 })
  await scene.ride(accountId, '2026-06-21T08:00:00Z', { ...told, tl_ftp: 40, rl_ftp: 20, form: 20 })
  // This is the evening of the 23rd in Toronto.
  await scene.query(
    `insert into training.training_info (account_id, observed_at, last_seen_at, tl_total) values ($1, $2, $2, 38)`,
    [accountId, '2026-06-24T02:00:00Z'],
  )
  const page = await findFitness({ store: scene.store }, { accountId })
  const { at = [], ...load } = page?.load.columns ?? {}
  const on = (day: string) => at.indexOf(Date.parse(day) / 1_000)
  expect([at.length, on('2026-06-01'), on('2026-06-23')]).toEqual([23, 0, 22])
  const values = (day: string) => Object.values(load).map((column) => column[on(day)])
  expect(['2026-06-01', '2026-06-11', '2026-06-21', '2026-06-22', '2026-06-23'].map(values)).toEqual([
    [60, 80, -20],
    [50, 50, 0],
    [40, 20, 20],
    [39, null, null],
    [38, null, null],
  ])
  // The weeks end on the 7th, the 14th, the 21st and the last reported day.
  expect(page?.weeks.slice(0, 4).map((week) => week.load)).toEqual([54, 47, 40, 38])
})

it('a run never counts as a cycling best, unless all sports are selected', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  const day = new Date().toISOString().slice(0, 10)
  for (const [type, watts, xss] of [
    ['Cycling', 250, 40],
    ['Running', 318, 25],
    ['Virtual Cycling', 240, 10],
  ] as const) {
    const ride = { activity_type: type, xss, breakthrough: 1 }
    const activityId = await scene.ride(accountId, `${day}T00:00:00Z`, ride)
    await scene.query(
      `insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
       select activity_id, 60, $2, account_id, date_part('year', started_at_local), started_at_local, sport
       from training.activities where activity_id = $1`,
      [activityId, watts],
    )
  }
  const best = async (sport?: 'cycling' | 'running' | 'swimming' | 'all') => {
    const page = await findFitness({ store: scene.store }, { accountId, sport })
    const [first] = page?.best ?? []
    const week = page?.weeks.at(-1)
    return [first?.all_time?.watts, first?.last_90_days?.watts, week?.xss, week?.activities]
  }
  expect(await best()).toEqual([250, 250, 50, 2])
  expect(await best('running')).toEqual([318, 318, 25, 1])
  expect(await best('all')).toEqual([318, 318, 75, 3])
  expect(await best('swimming')).toEqual([undefined, undefined, 0, 0])
  const records = await scene.view('records', 'order by sport')
  expect(records.map(({ sport }) => sport)).toEqual(['cycling', 'cycling', 'running'])
  const weeks = await scene.view('weekly_summary', `where sport = 'cycling'`)
  expect(weeks.map(({ xss }) => xss).sort()).toEqual([10, 40])
})

it('ten years of totals cover one sport and take less than 30 kB', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  await scene.query(
    `insert into training.activities (account_id, path, name, activity_type, started_at, timezone, started_at_local, detail_state, listed_at,
       wanted_at, fetched_at, distance, elapsed_s, total_elevation_gain, xss, medal, sig_ftp, prev_sig_ftp)
     select $1, 'ride' || n, md5(n::text), case when n % 8 = 7 then 'Running' else 'Cycling' end, at, 'UTC', at at time zone 'UTC', 'mirrored',
       at, at, at, 20 + random() * 40, 3600 + random() * 999, random() * 999, random() * 99, n % 5, 250 + random(), 249 + random()
     from generate_series(0, 3650) n, lateral (select now() - n * interval '1 day' as at) s`,
    [accountId],
  )
  const page = await findTotals({ store: scene.store }, { accountId })
  const [all] = await scene.query(
    `select count(*)::int as count from training.activities where sport = 'cycling'`,
  )
  const total = (span: string) =>
    page?.totals.filter((one) => one.span === span).reduce((sum, { activities }) => sum + activities, 0)
  expect([page?.sport, total('season'), total('month')]).toEqual(['cycling', all?.count, all?.count])
  // Every eighth activity is a run.
  const streaks = page?.streaks.map(
    ({ unit, is_current: isCurrent, length }) => `${unit} ${isCurrent} ${length}`,
  )
  expect(streaks?.slice(0, 2)).toEqual(['day true 7', 'day false 7'])
  expect(gzipSync(JSON.stringify(page)).length).toBeLessThan(30_000)
})
