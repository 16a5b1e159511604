import { expect, it } from 'vitest'
import { normalizePowerCurve } from '../../../../src/core/normalize/activity-answer.ts'
import { makeSamplesOf } from '../../../kit/samples.ts'
import { openScene } from './scene.ts'

it('fitness_history joins old activities and training information in one series', async () => {
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

it('upload_journey leads from a file to the change of the signature', async () => {
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

it('form_history has the sums of the loads, and records the signature changes', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  const tl = { tl_ftp: 30, tl_hie: 20, tl_pp: 10 }
  const rl = { rl_ftp: 3, rl_hie: 2, rl_pp: 1, form: -5, training_status: 2, freshness: 'tired' }
  const before = { prev_sig_ftp: 240, prev_sig_pp: 890, prev_sig_atc: 21_000 }
  const after = { sig_ftp: 250, sig_pp: 900, sig_atc: 21_500 }
  const zone = 'Asia/Tokyo'
  await scene.ride(accountId, '2020-05-01T22:30:00Z', { zone, ...tl, ...rl, ...before, ...after, medal: 3 })
  await scene.ride(accountId, '2020-05-02T22:30:00Z', { zone, breakthrough: 1, medal: 0 })
  await scene.ride(accountId, '2020-05-03T22:30:00Z', { zone, breakthrough: -1, medal: 0 })
  expect(await scene.view('form_history')).toMatchObject([
    { day: '2020-05-02', ...tl, ...rl, tl_total: 60, rl_total: 6 },
  ])
  expect(await scene.view('records', 'order by day')).toMatchObject([
    {
      ...{ day: '2020-05-02', medal: 3, breakthrough: null, ftp_before: 240, ftp_after: 250, ftp_change: 10 },
      ...{
        pp_before: 890,
        pp_after: 900,
        pp_change: 10,
        atc_before: 21_000,
        atc_after: 21_500,
        atc_change: 500,
      },
    },
    { day: '2020-05-03', breakthrough: 1, ftp_change: null },
  ])
})

it('recalculations name the first changed activity and count unchanged ones', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  const rides: number[] = []
  for (const day of [1, 2, 3, 4, 5, 6, 7, 8])
    rides.push(await scene.ride(accountId, `2026-05-0${day}T06:00:00Z`, { xss: 50 }))
  // The rider saved the third ride; the sixth was locked.
  for (const [minute, place] of [7, 2, 6, 3, 4].entries())
    await scene.query(
      `insert into training.activity_revisions (activity_id, observed_at, changes) values ($1, $2, $3)`,
      [...[rides[place], `2026-05-10T08:0${minute}:00Z`, JSON.stringify({ xss: [50, 51] })]],
    )
  const found = await scene.view('recalculations')
  expect(found).toMatchObject([
    { activities: 5, first_ride: '2026-05-03', first_activity_id: rides[2], unchanged: 1 },
  ])
})

it('mirror_health shows what an account lacks and when work last succeeded', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  await scene.account('other')
  await scene.sql`update training.accounts set needs_login = true, last_error = 'refused' where account_id = ${accountId}`
  const monthsAgo = (months: number) => {
    const today = new Date()
    return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - months, 1)).toISOString()
  }
  await scene.ride(accountId, monthsAgo(3))
  await scene.ride(accountId, monthsAgo(0), { detail_state: 'wanted', fetch_error: 'no answer' })
  await scene.ride(accountId, monthsAgo(9), { detail_state: 'failed', absent_since: new Date() })
  await scene.query(
    `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, reason, seen_at)
     select $1, state, 'f', 1, state, state || ' by rule', now() from unnest('{seen,mirrored}'::text[]) state`,
    [accountId],
  )
  await scene.query(
    `insert into training.sync_runs (account_id, resource, kind, outcome, started_at, finished_at, listed, failed, error)
     select $1, 'activities', kind, outcome, now() + n * interval '1 s', now() + n * interval '2 s', n, n, 'error ' || n
     from (values (1, 'poll', 'done'), (2, 'poll', 'failed'), (3, 'reconcile', 'partial'), (4, 'reconcile', 'failed'),
       (5, 'reconcile', 'running')) run (n, kind, outcome)`,
    [accountId],
  )
  const rows =
    await scene.sql`select item, count, at is not null as has_time, detail from training.mirror_health
    where account_id = ${accountId} order by item, month`
  expect(rows.map((row) => Object.values(row).join(' | '))).toEqual([
    'activities awaiting samples | 0 | false | ',
    'activities failed | 0 | false | ',
    'activities mirrored | 1 | false | ',
    'activities wanted | 1 | true | no answer',
    'last good poll |  | true | ',
    'last reconcile | 3 | true | error 4',
    'last run of activities poll | 2 | true | failed: error 2',
    'last run of activities reconcile | 5 | true | running: error 5',
    'month without activities | 0 | false | ',
    'month without activities | 0 | false | ',
    'needs login | 1 | false | refused',
    'uploads on their way | 1 | true | seen by rule',
  ])
})

it('power_bests has the standard durations, not the length of a single ride', async () => {
  const scene = await openScene()
  const lengthS = 12 * 3_600 + 77
  const samples = makeSamplesOf(Array.from({ length: lengthS }, () => ({ power: 200 })))
  const durations = normalizePowerCurve(samples)?.points.map(({ durationS }) => durationS) ?? []
  const activityId = await scene.ride(await scene.account(), '2024-05-01T06:00:00Z')
  await scene.sql`insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
     select activity_id, duration_s, 200, account_id, date_part('year', started_at_local), started_at_local, sport
     from training.activities, unnest(${durations}::int[]) duration_s where activity_id = ${activityId}`
  const bests = await scene.view('power_bests', `where span = 'all time' order by duration_s`)
  expect(durations.at(-1)).toBe(lengthS)
  expect(bests.map(({ duration_s }) => duration_s)).toEqual(durations.slice(0, -1))
})

it.each([
  [
    'cycling',
    'Cycling, Virtual Cycling, Mountain Biking, Gravel Ride, cyclocross, E-Bike Ride, Indoor Cycling, MTB',
  ],
  ['running', 'Running, Trail Run, VirtualRun, Treadmill, jogging'],
  ['swimming', 'Swimming, Open Water Swim'],
  ['other', 'Multisport, Walking, Rowing, Motorcycling, Bikram Yoga, Strength Training, '],
])('an activity belongs to the sport %s by its type, even if the type changes', async (sport, types) => {
  const scene = await openScene()
  const accountId = await scene.account()
  const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z', { activity_type: 'Cycling' })
  for (const type of [...types.split(', '), ...(sport === 'other' ? [null] : [])]) {
    await scene.sql`update training.activities set activity_type = ${type}`
    const [row] =
      await scene.sql`select sport, updated_at from training.activities where activity_id = ${activityId}`
    expect([type, row?.sport]).toEqual([type, sport])
  }
})
