import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../../src/kit/time.ts'
import { makeRide } from '../../kit/ride.ts'
import { type UploadRig, useUploadRig } from './rig.ts'

let rig: UploadRig
// The mirror knows these rides, which are not attached, so that the service answers.
useUploadRig(
  (opened) => {
    rig = opened
  },
  { env: { MUSETTE_KNOWN_RIDES: 'send' } },
)

const ride = makeRide()

/** Uploads the ride; returns the path of its activity. */
async function upload(name = 'ride.fit'): Promise<string> {
  await rig.importFile(name, ride)
  const { activityPath } = (await rig.find(ride)) ?? {}
  if (!activityPath) throw new Error('it was not uploaded')
  return activityPath
}

/** The service has the file, and the ledger never heard of it; nor did the mirror, unless it had the activity for a day. */
async function uploadElsewhere(mirrored: 'mirrored' | 'unknown'): Promise<string> {
  const path = await upload('elsewhere.fit')
  if (mirrored === 'mirrored') await rig.fetchWanted()
  await rig.rows(`truncate training.uploads${mirrored === 'mirrored' ? '' : ', training.activities'} cascade`)
  await rig.rows(`update training.activities set first_seen_at = now() - interval '1 day'`)
  return path
}

async function expectNoRequests(work: () => Promise<void>): Promise<void> {
  await rig.steer('POST', 'counts/reset')
  await work()
  expect((await rig.steer('GET', 'counts')).requests).toEqual({})
}

async function checkAll(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await rig.fetchWanted()
    await rig.sweep()
    rig.ahead(MINUTE)
  }
}

describe('a file that the service has from elsewhere', () => {
  it('and makes a second activity of, which then vanishes, becomes a duplicate of the first', async () => {
    const first = await uploadElsewhere('mirrored')
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect((await rig.find(ride))?.activityPath).not.toBe(first)
    await checkAll()
    const row = await rig.find(ride)
    expect(row).toMatchObject({ state: 'duplicate', activityPath: first, nextTryAt: null })
    expect(row?.reason).toContain(first)
    const shown = await rig.rows(
      `select a.path, a.absent_since is null as present, u.content_id is not null as stands
       from training.activities a left join training.uploads u using (activity_id) order by 2 desc`,
    )
    expect(shown).toMatchObject([
      { path: first, present: true, stands: true },
      { present: false, stands: false },
    ])
    await expectNoRequests(checkAll)
  })

  it('and the mirror has not fetched yet, ends mirrored with the remaining activity', async () => {
    const first = await uploadElsewhere('unknown')
    await rig.importFile('ride.fit', ride)
    await checkAll()
    await rig.fetchWanted()
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored', activityPath: first })
  })

  it('and refuses, becomes a duplicate with a link to its activity', async () => {
    const first = await uploadElsewhere('mirrored')
    await rig.steer('PATCH', 'settings', { duplicate_uploads: 'refuse' })
    const outcome = await rig.importFile('ride.fit', ride)
    expect(outcome).toMatchObject({ action: 'failed', text: expect.stringContaining(first) })
    expect(await rig.find(ride)).toMatchObject({ state: 'duplicate', activityPath: first, acceptedAt: null })
    expect(await rig.importFile('ride.fit', ride)).toEqual(outcome)
    expect(await rig.find(ride)).toMatchObject({ attempts: 1 })
  })

  it('and answers with its path, becomes a duplicate of it', async () => {
    const first = await uploadElsewhere('mirrored')
    await rig.steer('PATCH', 'settings', { duplicate_uploads: 'same-path' })
    expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'failed' })
    expect(await rig.find(ride)).toMatchObject({ state: 'duplicate', activityPath: first })
  })
})

describe('an uploaded file', () => {
  it('whose second attempt is refused because the first had arrived keeps its activity', async () => {
    const path = await uploadElsewhere('unknown')
    await rig.steer('PATCH', 'settings', { duplicate_uploads: 'refuse' })
    await rig.fault({ kind: 'status', status: 429, retry_after: 1 })
    await rig.importFile('ride.fit', ride)
    rig.ahead(MINUTE)
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', activityPath: path, attempts: 2 })
  })

  it('whose mirrored activity vanishes is checked once, and kept', async () => {
    const path = await upload()
    await rig.fetchWanted()
    await rig.steer('DELETE', `activities/${path}`)
    await rig.rows('update training.activities set absent_since = now()')
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored', activityPath: path, checks: 1 })
    await expectNoRequests(rig.sweep)
  })

  it('that the service does not list yet is searched until it does', async () => {
    const path = await upload()
    await rig.steer('DELETE', `activities/${path}`)
    await rig.fetchWanted()
    await checkAll()
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', activityPath: path })
    await rig.steer('POST', `activities/${path}/revive`)
    rig.ahead(10 * MINUTE)
    await checkAll()
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored', activityPath: path })
  })

  it('that the service lists late is not matched with the ride of another device', async () => {
    await rig.importFile('other.fit', makeRide({ seed: 2 }))
    const path = await upload()
    await rig.steer('DELETE', `activities/${path}`)
    await rig.fetchWanted()
    rig.ahead(20 * SECOND)
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', activityPath: path, checks: 1 })
    await rig.steer('POST', `activities/${path}/revive`)
    rig.ahead(MINUTE)
    await rig.sweep()
    await rig.fetchWanted()
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored', activityPath: path })
  })

  it('without samples at the service counts as mirrored in the end', async () => {
    await upload()
    await rig.rows(`update training.activities set detail_state = 'mirrored', sample_count = 0`)
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored' })
  })
})
