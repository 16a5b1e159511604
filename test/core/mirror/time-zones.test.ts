import { beforeEach, describe, expect, it } from 'vitest'
import type { Jobs } from '../../../src/core/jobs/jobs.ts'
import { updateAllTimeZones } from '../../../src/core/mirror/time-zones.ts'
import { rebuildAccount } from '../../../src/program/app/rebuild-account.ts'
import { setHomeTimezone } from '../../../src/program/app/sign-in.ts'
import { makeHandlers } from '../../../src/program/daemon/handlers.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { useRig } from './rig.ts'

const AUCKLAND = { lat: -36.8485, lng: 174.7633 }
const SAN_FRANCISCO = { lat: 37.7749, lng: -122.4194 }
const KATHMANDU = { lat: 27.7172, lng: 85.324 }

const NO_JOBS = { enqueue: async () => undefined } as unknown as Jobs
const SWEEP = { signal: new AbortController().signal } as Parameters<
  ReturnType<typeof makeHandlers>['sweep']
>[1]

const rig = useRig({ activities: 0 })
beforeEach(() => rig.renew())

type Made = { path: string; at: string; sample?: Record<string, number>; indoor?: boolean }

/** Adds a one-minute ride whose times the service sends in UTC. */
async function ride({ path, at, ...rest }: Made): Promise<void> {
  await rig.add({ path, started_at: at, seconds: 60, ...rest })
}

const sync = () => rig.sync()

/** Returns each activity's local time, zone and source of the zone, by path. */
async function clocks(): Promise<Record<string, string>> {
  const rows =
    await rig.sql`select path, concat_ws(' ', started_at_local, timezone, timezone_source) as clock from
    training.activities order by path`
  return Object.fromEntries(rows.map(({ path, clock }) => [path, clock]))
}

/** Returns the changed columns of each activity in the feed, one row per change. */
async function changedColumns(after: unknown): Promise<Record<string, unknown>[]> {
  return rig.sql`select path, array_agg(key order by key) as columns from training.changes, jsonb_object_keys(detail) as key
     where kind = 'activity.changed' and key <> 'summary_hash' and change_id > ${after} group by change_id, path order by path`
}

async function newestChange(): Promise<unknown> {
  const [row] = await rig.sql`select coalesce(max(change_id), 0) as newest from training.changes`
  return row?.newest
}

const FOUR_CLOCKS = {
  auckland: '2026-03-02 08:00:00 Pacific/Auckland position',
  francisco: '2026-01-31 18:30:00 America/Los_Angeles position',
  indoors: '2026-02-28 07:00:00 Pacific/Auckland nearest',
  kathmandu: '2026-01-06 05:00:00 Asia/Kathmandu position',
}

describe('activities that the service dates in UTC', () => {
  it('have the rider’s days everywhere, and the service’s instants', async () => {
    await ride({ path: 'auckland', at: '2026-03-01T19:00:00Z', sample: AUCKLAND })
    await ride({ path: 'francisco', at: '2026-02-01T02:30:00Z', sample: SAN_FRANCISCO })
    await ride({ path: 'indoors', at: '2026-02-27T18:00:00Z', indoor: true })
    await ride({ path: 'kathmandu', at: '2026-01-05T23:15:00Z', sample: KATHMANDU })
    await sync()
    expect(await clocks()).toEqual(FOUR_CLOCKS)
    expect(await rig.sql`select path, started_at from training.activities order by path`).toEqual([
      { path: 'auckland', started_at: new Date('2026-03-01T19:00:00Z') },
      { path: 'francisco', started_at: new Date('2026-02-01T02:30:00Z') },
      { path: 'indoors', started_at: new Date('2026-02-27T18:00:00Z') },
      { path: 'kathmandu', started_at: new Date('2026-01-05T23:15:00Z') },
    ])
    const days = 'select count(*)::int as wrong from training.activities a'
    for (const query of [
      `${days} join training.activity_intensity i using (activity_id) where i.day <> a.started_at_local::date`,
      `${days} join training.power_curves c using (activity_id) where c.started_at_local <> a.started_at_local`,
      `${days} where not exists (select from training.daily_load d where d.day = a.started_at_local::date and d.activities > 0)`,
    ])
      expect(await rig.rows(query), query).toEqual([{ wrong: 0 }])
    const sent = `select distinct summary #>> '{start_date,timezone}' as detail, list_fields ->> 'timezone' as list from training.activities`
    expect(await rig.rows(sent)).toEqual([{ detail: 'UTC', list: 'UTC' }])
    // A new list or fetch keeps the local times, without a row in the change feed.
    const before = await newestChange()
    await sync()
    await rig.sql`update training.activities set detail_state = 'wanted', summary_hash = null`
    await sync()
    expect(await clocks()).toEqual(FOUR_CLOCKS)
    expect(await changedColumns(before)).toEqual([])
    // They are corrected without the service after an upgrade, and by a rebuild after damage.
    await rig.requests()
    await rig.sql`update training.activities set timezone = 'UTC', timezone_source = null, started_at_local = started_at at
      time zone 'UTC'`
    await updateAllTimeZones(rig.app)
    expect(await clocks()).toEqual(FOUR_CLOCKS)
    await rig.sql`update training.activities set timezone = 'Europe/Berlin', started_at_local = started_at_local + interval '3 days'`
    await rebuildAccount(rig.app, { name: 'default' })
    expect(await clocks()).toEqual(FOUR_CLOCKS)
    expect(await rig.requests()).toEqual({})
  })

  it('take place or clock from their FIT file if the service sends no position', async () => {
    await ride({ path: 'ride1', at: '2026-03-01T19:00:00Z', indoor: true })
    await sync()
    await rig.sql`with made as (insert into training.uploads (account_id, content_id, file_name, size_bytes, state, seen_at, activity_id)
         select account_id, 'c', 'ride.fit', 1, 'mirrored', now(), activity_id from training.activities returning account_id)
       select from made`
    await rig.sql`insert into training.fit_files (account_id, content_id, utc_offset_s, size_bytes, parts, records, fields, read_at)
       select account_id, content_id, 20700, 1, 1, 1, '{}', now() from training.uploads`
    await sync()
    expect(await clocks()).toEqual({ ride1: '2026-03-02 00:45:00 +05:45 file' })
    await setHomeTimezone(rig.app, { name: 'default', timezone: 'Asia/Kathmandu' })
    expect(await clocks()).toEqual({ ride1: '2026-03-02 00:45:00 Asia/Kathmandu file' })
    await rig.rows('update training.fit_files set start_lat = $1, start_lng = $2', Object.values(AUCKLAND))
    await sync()
    const placed = { ride1: '2026-03-02 08:00:00 Pacific/Auckland position' }
    expect(await clocks()).toEqual(placed)
    const before = await newestChange()
    await rig.sql`update training.activities set detail_state = 'wanted', summary_hash = null`
    await sync()
    await rebuildAccount(rig.app, { name: 'default' })
    expect([await clocks(), await changedColumns(before)]).toEqual([placed, []])
  })
})

it('a new activity gives its neighbours its time zone within one daemon sweep', async () => {
  await ride({ path: 'indoors', at: '2026-03-02T19:00:00Z', indoor: true })
  await sync()
  const { sweep } = makeHandlers(rig.app, () => NO_JOBS)
  await sweep({}, SWEEP)
  expect(await clocks()).toEqual({ indoors: '2026-03-02 19:00:00 UTC unknown' })
  await rig.sql`insert into training.activities (account_id, path, started_at, start_lat, start_lng, detail_state, listed_at, wanted_at)
     select account_id, 'auckland', '2026-03-01T19:00Z', ${AUCKLAND.lat}, ${AUCKLAND.lng}, 'mirrored', now(), now() from training.accounts`
  await sweep({}, SWEEP)
  expect(await clocks()).toEqual({
    auckland: '2026-03-02 08:00:00 Pacific/Auckland position',
    indoors: '2026-03-03 08:00:00 Pacific/Auckland nearest',
  })
  const newest = await newestChange()
  await sweep({}, SWEEP)
  await sweep({}, SWEEP)
  expect(await newestChange()).toBe(newest)
})

describe('the home of an account', () => {
  it('applies to activities without a neighbour, with one feed row each, and moves derived days', async () => {
    await ride({ path: 'auckland', at: '2026-03-01T19:00:00Z', sample: AUCKLAND })
    await ride({ path: 'indoors', at: '2025-12-31T23:30:00Z', indoor: true })
    await sync()
    const before = await newestChange()
    expect(await setHomeTimezone(rig.app, { name: 'default', timezone: 'Asia/Tokyo' })).toBe(1)
    expect(await clocks()).toEqual({
      auckland: '2026-03-02 08:00:00 Pacific/Auckland position',
      indoors: '2026-01-01 08:30:00 Asia/Tokyo setting',
    })
    expect(await changedColumns(before)).toEqual([
      { path: 'indoors', columns: ['started_at_local', 'timezone', 'timezone_source'] },
    ])
    expect(await rig.sql`select distinct season from training.power_curves`).toEqual([{ season: 2026 }])
    expect(await rig.sql`select timezone, timezone_source from training.today`).toEqual([
      { timezone: 'Asia/Tokyo', timezone_source: 'setting' },
    ])
    expect(await setHomeTimezone(rig.app, { name: 'default', timezone: null })).toBe(1)
    expect(await clocks()).toMatchObject({ indoors: '2025-12-31 23:30:00 UTC unknown' })
  })

  it('is stored by the name that Postgres knows; an unknown name is refused', async () => {
    const kept = async () => (await rig.sql`select timezone from training.accounts`)[0]?.timezone
    const unknown = setHomeTimezone(rig.app, { name: 'default', timezone: 'Mars/Olympus' })
    await expect(unknown).rejects.toMatchObject({ code: 'bad_timezone' })
    expect(await kept()).toBe(null)
    for (const [alias, known] of [
      ['Asia/Calcutta', 'Asia/Kolkata'],
      ['Asia/Kolkata', 'Asia/Calcutta'],
      ['US/Eastern', 'America/New_York'],
      ['europe/berlin', 'Europe/Berlin'],
    ]) {
      await queryOnce(
        rig.databaseUrl,
        `set allow_system_table_mods = on; create or replace view pg_catalog.pg_timezone_names as
         select * from pg_timezone_names() where name <> '${alias}'`,
      )
      await setHomeTimezone(rig.app, { name: 'default', timezone: String(alias) })
      expect(await kept()).toBe(known)
    }
  })

  it('does not affect another account', async () => {
    const [other] =
      await rig.sql`insert into training.accounts (name, base_url, timezone, timezone_set_by) values ('other',
      'http://127.0.0.1:9', 'Europe/Berlin', 'account') returning account_id`
    await ride({ path: 'indoors', at: '2026-03-01T19:00:00Z', indoor: true })
    await ride({ path: 'auckland', at: '2026-03-03T19:00:00Z', sample: AUCKLAND })
    await sync()
    await rig.sql`insert into training.activities (account_id, path, started_at, detail_state, listed_at, wanted_at)
       values (${other?.account_id}, 'theirs', '2026-03-02T23:30:00Z', 'mirrored', now(), now())`
    await updateAllTimeZones(rig.app)
    expect(await clocks()).toEqual({
      auckland: '2026-03-04 08:00:00 Pacific/Auckland position',
      indoors: '2026-03-02 08:00:00 Pacific/Auckland nearest',
      theirs: '2026-03-03 00:30:00 Europe/Berlin setting',
    })
    const days = await rig.sql`select account_id, timezone from training.today order by account_id`
    expect(days.map(({ timezone }) => timezone)).toEqual(['Pacific/Auckland', 'Europe/Berlin'])
  })
})
