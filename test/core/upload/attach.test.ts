import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { MINUTE } from '../../../src/kit/time.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { makeRide } from '../../kit/ride.ts'
import { makeZip } from '../fit/make-zip.ts'
import { openUploadRig, type UploadRig } from './rig.ts'

let rig: UploadRig
beforeAll(async () => {
  rig = await openUploadRig()
  await poll()
})
afterAll(() => rig.close())

const poll = () => pollActivities(rig.app.mirror, { account: rig.account })
const changeActivity = (path: string, change: string) =>
  rig.rows(`update training.activities set ${change} where path = $1 returning 1`, [path])
const sent = async () =>
  (await rig.steer<{ uploads: { accepted: number } }>('GET', 'counts')).uploads.accepted
const send = () => ({ ...rig.deps, knownActivities: 'send' as const })

let day = 0
/** Makes a ride of another day that the service and the mirror have but the ledger does not know. */
async function rideFromElsewhere(): Promise<{ bytes: Buffer; path: string }> {
  day += 1
  const bytes = makeRide({ seed: day, start: new Date(Date.UTC(2026, 0, day, 8)).toISOString() })
  await rig.importFile('elsewhere.fit', bytes, { deps: send() })
  await rig.fetchWanted()
  const path = (await rig.find(bytes))?.activityPath
  if (!path) throw new Error('it was not uploaded')
  await rig.rows('delete from training.uploads where activity_path = $1 returning 1', [path])
  return { bytes, path }
}

describe('a file of a ride that reached the service another way', () => {
  it('is attached, not sent, and its content is in SQL', async () => {
    const { bytes, path } = await rideFromElsewhere()
    const before = await sent()
    expect(await rig.importFile('maker.fit', bytes)).toEqual({ action: 'done' })
    expect(await sent()).toBe(before)
    const attached = { state: 'attached', activityPath: path, attempts: 0, reason: null }
    expect(await rig.find(bytes)).toMatchObject(attached)
    const [file] = await rig.rows(
      `select f.file_name, f.kept, (select count(*)::int from training.ride_records r where r.activity_id = f.activity_id) as records,
         (select count(*)::int from training.ride_laps l where l.activity_id = f.activity_id) as laps
       from training.ride_files f join training.activities a using (activity_id) where a.path = $1`,
      [path],
    )
    expect(file).toEqual({ file_name: 'maker.fit', kept: true, records: 60, laps: 1 })
    expect(await rig.importFile('again.fit', bytes)).toEqual({ action: 'done' })
  })

  it('is sent by force, and if its activity is gone', async () => {
    const { bytes, path } = await rideFromElsewhere()
    await rig.importFile('ride.fit', bytes)
    await rig.steer('DELETE', `activities/${path}`)
    await changeActivity(path, 'absent_since = now()')
    expect(await rig.importFile('ride.fit', bytes)).toEqual({ action: 'done' })
    expect(await rig.find(bytes)).toMatchObject({ state: 'attached' })
    const { upload } = await rig.force('ride.fit', bytes)
    expect(upload).toMatchObject({ state: 'accepted', attempts: 1 })
    expect(upload.activityPath).not.toBe(path)
  })

  const NO_LENGTH = 'elapsed_s = null, duration = null, detail_state ='
  // What changes in the mirrored activity, and the resulting state of the file.
  it.each<[title: string, change: string, state: string, reason?: string]>([
    ['is attached if the activity starts 5 s later', `started_at = started_at + interval '5 s'`, 'attached'],
    [
      'is attached if the activity starts 5 s earlier',
      `started_at = started_at - interval '5 s'`,
      'attached',
    ],
    ['is sent if no activity starts within 5 s', `started_at = started_at + interval '6 s'`, 'accepted'],
    ['is attached if the activity lasts 60 s longer', 'elapsed_s = 119, duration = 119', 'attached'],
    [
      'is a duplicate if the activity lasts even longer',
      'elapsed_s = 121, duration = 121',
      'duplicate',
      'does not last 59 s',
    ],
    ['is attached if one of two lengths matches', 'elapsed_s = 600', 'attached'],
    [
      'is a duplicate if the activity’s length is unknown',
      `${NO_LENGTH} 'failed'`,
      'duplicate',
      'does not last 59 s',
    ],
    [
      'waits if the activity is not fetched yet',
      `${NO_LENGTH} 'wanted', sample_count = null`,
      'seen',
      'no samples yet',
    ],
    ['is sent if the activity is absent', 'absent_since = now()', 'accepted'],
  ])('%s', async (_, change, state, reason) => {
    const { bytes, path } = await rideFromElsewhere()
    await changeActivity(path, change)
    await rig.importFile('ride.fit', bytes)
    const row = await rig.find(bytes)
    expect(row).toMatchObject({ state, reason: reason ? expect.stringContaining(reason) : null })
    if (state === 'duplicate') expect(row).toMatchObject({ activityId: null, activityPath: null })
  })

  const changeSamples = (path: string, change: string) =>
    rig.rows(
      `update training.samples set ${change} where activity_id = (select activity_id from training.activities where path = $1) returning 1`,
      [path],
    )
  const documented = 'p_raw = null'
  const powerAlone = `${documented}, hr = null`
  it.each<[title: string, change: string, state: 'attached' | 'duplicate']>([
    ['is attached by smoothed power', powerAlone, 'attached'],
    ['is attached by power of each second', 'power = null, hr = null', 'attached'],
    ['is attached by heart rate alone', 'power = null, p_raw = null', 'attached'],
    [
      'is attached without any shared signal',
      `${powerAlone}, power = null, lat = null, lng = null`,
      'attached',
    ],
    ['is attached despite a smoothed heart rate', 'hr = hr + 2', 'attached'],
    [
      'is refused for different power without a heart rate',
      `${powerAlone}, power = 400 - power`,
      'duplicate',
    ],
    ['is refused for 0 W without a heart rate', `${powerAlone}, power = 0`, 'duplicate'],
    [
      'is refused for random power without a heart rate',
      `${powerAlone}, power = random() * 400`,
      'duplicate',
    ],
    [
      'is refused for different power with equal heart rate',
      `${documented}, power = power + 20`,
      'duplicate',
    ],
    ['is refused for different raw power with equal heart rate', 'p_raw = p_raw + 20', 'duplicate'],
    ['is refused for a different heart rate with equal power', 'hr = hr + 20', 'duplicate'],
    ['is refused for a different position', 'lat = lat + 0.01', 'duplicate'],
    [
      'is refused for a different position without other signals',
      `${powerAlone}, power = null, lng = lng - 0.01`,
      'duplicate',
    ],
  ])('with equal start and length %s', async (_, change, state) => {
    const { bytes, path } = await rideFromElsewhere()
    await changeSamples(path, change)
    await rig.importFile('ride.fit', bytes)
    expect(await rig.find(bytes)).toMatchObject({ state })
  })

  it('waits for the samples of an activity with a length', async () => {
    const { bytes, path } = await rideFromElsewhere()
    await changeActivity(path, `detail_state = 'awaiting_samples', sample_count = 0`)
    await rig.rows(
      'delete from training.samples where activity_id = (select activity_id from training.activities where path = $1) returning 1',
      [path],
    )
    expect(await rig.importFile('ride.fit', bytes)).toMatchObject({ action: 'wait' })
    expect(await rig.find(bytes)).toMatchObject({
      state: 'seen',
      reason: expect.stringContaining('no samples yet'),
    })
  })

  it('is not attached if values differ, a file is attached, or two rides match', async () => {
    const first = await rideFromElsewhere()
    const others = 'update training.samples set hr = hr + $1, p_raw = p_raw + $1 returning 1'
    await rig.rows(others, [20])
    const textWith = (part: string) => ({ action: 'failed', text: expect.stringContaining(part) })
    const partner = textWith(`activity ${first.path} is of another device or rider`)
    expect(await rig.importFile('partner.fit', first.bytes)).toMatchObject(partner)
    await rig.rows(others, [-20])
    await rig.rows('delete from training.uploads where file_name = $1 returning 1', ['partner.fit'])
    await rig.importFile('ride.fit', first.bytes)
    await rig.rows('update training.fit_files set serial_number = 77 returning 1')
    const copy = Buffer.concat([first.bytes, Buffer.from('a mark of another program')])
    const outcome = await rig.importFile('copy.fit', copy)
    expect(outcome).toMatchObject(textWith('has the file "ride.fit" already'))
    expect(outcome).toMatchObject(textWith('musette upload --force'))
    const second = await rideFromElsewhere()
    await rig.rows(
      `insert into training.activities (account_id, path, started_at, elapsed_s, detail_state, listed_at, wanted_at)
       select account_id, 'twin', started_at, elapsed_s, 'mirrored', listed_at, wanted_at from training.activities where path = $1 returning 1`,
      [second.path],
    )
    await rig.importFile('ride.fit', second.bytes)
    const reason = `it may be any of the activities ${second.path}, twin`
    expect(await rig.find(second.bytes)).toMatchObject({ reason })
    const third = await rideFromElsewhere()
    const few = 'hr = case when extract(second from t) < 20 then hr + 20 end, p_raw = null'
    await rig.rows(`update training.samples set ${few} returning 1`)
    const stranger = textWith(`activity ${third.path} is of another device or rider`)
    expect(await rig.importFile('few.fit', third.bytes)).toMatchObject(stranger)
  })

  it('waits if the service lists the ride but the mirror was not polled since', async () => {
    const { bytes, path } = await rideFromElsewhere()
    await rig.rows('delete from training.activities where path = $1 returning 1', [path])
    await rig.rows(`update training.sync_cursors set advanced_at = '2025-12-31' returning 1`)
    expect(await rig.importFile('ride.fit', bytes)).toMatchObject({ action: 'wait' })
    const reason = `activity ${path} has its start, but is not mirrored yet`
    expect(await rig.find(bytes)).toMatchObject({ state: 'seen', reason })
    await poll()
    await rig.fetchWanted()
    rig.ahead(MINUTE)
    expect(await rig.importFile('ride.fit', bytes)).toEqual({ action: 'done' })
    expect(await rig.find(bytes)).toMatchObject({ state: 'attached', activityPath: path })
  })
})

describe('two riders on one ride', () => {
  it('get only their own file attached', async () => {
    const { bytes } = await rideFromElsewhere()
    const login = { name: 'partner', username: 'second', password: 'second', keepPassword: false }
    const account = await signInWithPassword(rig.app, login)
    await pollActivities(rig.app.mirror, { account })
    const own = makeRide({ seed: 777, start: new Date(Date.UTC(2026, 0, day, 8, 0, 2)).toISOString() })
    await rig.importFile('own.fit', own, { deps: send(), account })
    await rig.fetchWanted(account)
    await rig.rows('delete from training.uploads where account_id = $1 returning 1', [account.accountId])
    expect(await rig.importFile('wrong.fit', bytes, { account })).toMatchObject({ action: 'failed' })
    expect(await rig.importFile('own.fit', own, { account })).toEqual({ action: 'done' })
    expect(await rig.importFile('first.fit', bytes)).toEqual({ action: 'done' })
    expect(
      await rig.rows(`select c.name, f.file_name from training.ride_files f join training.accounts c using (account_id)
        where f.file_name in ('own.fit', 'first.fit', 'wrong.fit') order by 1`),
    ).toEqual([
      { name: 'default', file_name: 'first.fit' },
      { name: 'partner', file_name: 'own.fit' },
    ])
  })
})

describe('an export of many years', () => {
  it('uploads only the three files that are not known', async () => {
    const rides = Array.from({ length: 12 }, (_, index) => {
      const start = new Date(Date.UTC(2024, 0, 1 + index, 7)).toISOString()
      return { start, name: `${index}.fit`, bytes: makeRide({ seed: index, start, seconds: 20 }) }
    })
    await rig.rows(
      `insert into training.activities (account_id, path, started_at, elapsed_s, detail_state, listed_at, wanted_at)
       select 1, 'known' || n, t, 19, 'mirrored', now(), now() from unnest($1::timestamptz[]) with ordinality k (t, n) returning 1`,
      [rides.filter((_, index) => index % 4 !== 3).map(({ start }) => start)],
    )
    const before = await sent()
    expect(await rig.importFile('export.zip', makeZip(rides))).toEqual({ action: 'done' })
    expect((await sent()) - before).toBe(3)
    const [states] = await rig.rows(
      `select count(*) filter (where state = 'accepted')::int as accepted, count(*) filter (where state = 'attached')::int as attached,
         count(*)::int as files, (select count(*)::int from training.ride_files where file_name ~ '^[0-9]+.fit$') as read
       from training.uploads where started_at < '2025-01-01'`,
    )
    expect(states).toEqual({ accepted: 3, attached: 9, files: 12, read: 12 })
  })
})
