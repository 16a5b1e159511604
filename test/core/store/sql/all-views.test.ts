import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { openScene, type Scene, VIEWS } from './scene.ts'

/** Records five rides with rows for every view, and a file of the last. Returns the activity_id of the last. */
async function fillAccount(scene: Scene, accountId: number): Promise<number> {
  const rides: number[] = []
  for (const [index, hour] of [5, 6, 7, 8, 9].entries()) {
    const activityId = await scene.ride(accountId, `${new Date().getUTCFullYear()}-01-01T0${hour}:00:00Z`, {
      zone: index === 4 ? 'Asia/Tokyo' : 'UTC',
      ...{ xss: 50, sig_ftp: 250, prev_sig_ftp: 240, medal: 1, tl_ftp: 30, form: 2 },
    })
    await recordAround(scene, activityId, index)
    rides.push(activityId)
  }
  await scene.sql`insert into training.training_info (account_id, observed_at, last_seen_at, target_total) values
    (${accountId}, now(), now(), 60)`
  await scene.sql`insert into training.uploads (account_id, content_id, file_name, size_bytes, state, activity_id, seen_at)
     values (${accountId}, 'c', 'ride.fit', 1, 'mirrored', ${rides.at(-1)}, now())`
  await scene.sql`insert into training.fit_files (account_id, content_id, started_at, size_bytes, parts, records, fields, read_at)
     values (${accountId}, 'c', now(), 1, 1, 1, '{}', now())`
  await scene.sql`insert into training.fit_laps (account_id, content_id, position, fields) values (${accountId}, 'c', 1, '{}')`
  await scene.query(
    `insert into training.fit_fields (account_id, content_id, position, name, developer_index, field_number, count, offsets_s,
       "values", fields)
     values ($1, 'c', 1, 'core_temperature', 0, 0, 1, '{3}', '{37.5}', '{}')`,
    [accountId],
  )
  await scene.sql`insert into training.fit_records (file_id, position, t, temperature)
     select file_id, 1, now(), 21 from training.fit_files where account_id = ${accountId}`
  await scene.sql`insert into training.fit_messages (file_id, position, record, t, message, event, fields)
     select file_id, place, 1, now(), message, case message when 'event' then 'timer' end, of.fields::jsonb
     from training.fit_files, (values (1, 'event', '{"event": 0, "data": 0}'), (2, 'hrv', '{"time": [0.5, null]}'),
       (3, 'length', '{"lengthType": 1, "swimStroke": 8}'), (4, 'timeInZone', '{"referenceMesg": 18, "timeInHrZone": [1.5]}'),
       (5, 'userProfile', '{"weight": 61.5}')) as of (place, message, fields)
     where account_id = ${accountId}`
  // Transactions of other tests on this server delay the settling of changes.
  await eventually(async () => {
    return (await scene.view('changes_settled', `where account_id = ${accountId}`)).length > 0
  })
  return rides.at(-1) ?? 0
}

async function recordAround(scene: Scene, activityId: number, index: number): Promise<void> {
  await scene.sql`insert into training.power_curves (activity_id, duration_s, watts, account_id, season, started_at_local, sport)
     select activity_id, 5, ${500 + index}, account_id, date_part('year', started_at_local), started_at_local, sport
     from training.activities where activity_id = ${activityId}`
  await scene.sql`insert into training.activity_intensity
       (activity_id, ftp, power_z1_s, hr_peak, hr_at_least_s, account_id, day, month)
     select activity_id, 250, 9, 1, ${[9]}, account_id, started_at_local::date, date_trunc('month', started_at_local)
     from training.activities where activity_id = ${activityId}`
  await scene.sql`insert into training.ride_measures (activity_id, account_id, work_kj, route_id)
     select activity_id, account_id, ${index}, activity_id from training.activities where activity_id = ${activityId}`
  await scene.sql`insert into musette.ride_tracks (activity_id, account_id, sport, length_m, points, outline)
     select activity_id, account_id, sport, 0, '', '' from training.activities where activity_id = ${activityId}`
  await scene.sql`insert into training.samples (activity_id, t) values (${activityId}, now())`
  await scene.sql`insert into training.sample_extras (activity_id, field, "values") values (${activityId}, 'mm', '{0.5}')`
  await scene.sql`insert into training.activity_revisions (activity_id, observed_at, changes) values (${activityId}, now(),
    ${JSON.stringify({ xss: [50, 51] })})`
}

/** Views that have rows for an account before its first activity. */
const OF_EACH_ACCOUNT: readonly string[] = ['today', 'this_week', 'mirror_health']
/**
 * Views in which an absent ride changes nothing: the change feed keeps its history, it is not of this week nor the only ride of its day,
 * and nothing recommended it.
 */
const WITHOUT_THE_RIDE: readonly string[] = [
  'changes_settled',
  'this_week',
  'planned_load',
  'recommended_load',
  'recommended_weeks',
  'streaks',
]

it('every view exists, and is empty in a new database except for account facts', async () => {
  const scene = await openScene()
  const found = await scene.sql`select viewname from pg_views where schemaname = 'training' order by viewname`
  expect(found.map(({ viewname }) => viewname)).toEqual([...VIEWS])
  for (const view of VIEWS) expect(await scene.view(view), view).toEqual([])
  await scene.account()
  for (const view of VIEWS)
    expect((await scene.view(view)).length > 0, view).toBe(OF_EACH_ACCOUNT.includes(view))
})

describe('a view', () => {
  let scene: Scene
  let newest: number
  const ends: Array<() => Promise<void>> = []
  beforeAll(async () => {
    scene = await openScene((close) => void ends.push(close))
    newest = await fillAccount(scene, await scene.account())
    await fillAccount(scene, await scene.account('other'))
  })
  afterAll(async () => {
    for (const close of ends) await close()
  })

  it.each(VIEWS)(
    'such as %s has account_id as its first column, and the name of the account',
    async (view) => {
      const wrong = await scene.query(
        `select v.account_id, v.account from training.${view} v left join training.accounts a using (account_id)
       where v.account is distinct from a.name`,
      )
      expect(wrong).toEqual([])
      const named = await scene.query(`select distinct account from training.${view} order by 1`)
      expect(named).toEqual([{ account: 'default' }, { account: 'other' }])
      const first = `select attname from pg_attribute where attnum = 1 and attrelid = 'training.${view}'::regclass`
      expect(await scene.query(first)).toEqual([{ attname: 'account_id' }])
    },
  )

  it.each(VIEWS.filter((view) => !WITHOUT_THE_RIDE.includes(view)))(
    'such as %s leaves out a ride that the service no longer lists',
    async (view) => {
      const isAbsent = (since: string) =>
        scene.query(`update training.activities set absent_since = ${since} where activity_id = $1`, [newest])
      const before = await scene.view(view)
      expect(before).not.toEqual([])
      await isAbsent('now()')
      const after = await scene.view(view)
      await isAbsent('null')
      expect(after).not.toEqual(before)
      expect(after.filter((row) => row.activity_id === newest)).toEqual([])
    },
  )
})
