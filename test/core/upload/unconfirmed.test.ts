import { describe, expect, it } from 'vitest'
import { FIT_EPOCH_S } from '../../../src/core/fit/profile.ts'
import { TransientError } from '../../../src/kit/errors.ts'
import { MINUTE, SECOND } from '../../../src/kit/time.ts'
import { makeRide } from '../../kit/ride.ts'
import { FILE_ID_ACTIVITY, littleEndian, T0, wrap } from '../fit/wrap.ts'
import { type UploadRig, useUploadRig } from './rig.ts'

let rig: UploadRig
// A ride that the service lists already waits for the mirror otherwise.
useUploadRig(
  (opened) => {
    rig = opened
  },
  { env: { MUSETTE_KNOWN_RIDES: 'send' } },
)

const ride = makeRide()

/** Makes a FIT activity of one record at each of two times, in FIT seconds, and a session that starts at another one. */
function makeOddStart(first: number, second: number, start = T0): Buffer {
  const definition = [0x42, 0, 0, 20, 0, 1, 253, 4, 0x86]
  const records = [first, second].flatMap((time) => [...definition, 0x02, ...littleEndian(time)])
  const session = [0x43, 0, 0, 18, 0, 1, 2, 4, 0x86, 0x03, ...littleEndian(start)]
  return wrap([...FILE_ID_ACTIVITY, ...records, ...session])
}

/** Imports a file whose answer is lost although the service has it; returns the activity that it became. */
async function loseAnswer(bytes: Uint8Array = ride, name = 'ride.fit') {
  await rig.fault({ kind: 'lost-answer' })
  // A file without a time of the day may have been recorded until its last change.
  expect(await rig.importFile(name, bytes, { changedAt: new Date(0) })).toMatchObject({ action: 'wait' })
  expect(await rig.find(bytes)).toMatchObject({ state: 'unconfirmed', attempts: 1 })
  return (await rig.uploaded()).find((activity) => activity.name === name)
}

/** Imports a file whose body leaves, and which the service never gets. */
async function loseFile(bytes: Uint8Array = ride, name = 'ride.fit') {
  const uploadFit = async () => {
    throw new TransientError('connection_lost', 'the connection was lost', { requestSent: true })
  }
  const deps = { ...rig.deps, serviceOf: () => ({ ...rig.deps.serviceOf(rig.account), uploadFit }) }
  await rig.importFile(name, bytes, { deps })
  expect(await rig.find(bytes)).toMatchObject({ state: 'unconfirmed', activityPath: null })
}

describe('an answer that was lost after the body', () => {
  it('is found by the start of the activity, and the file is not sent again', async () => {
    const only = await loseAnswer()
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', attempts: 1, activityPath: only?.path })
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    await rig.fetchWanted()
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored' })
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('is found also when a poll has mirrored the new activity', async () => {
    const only = await loseAnswer()
    await rig.rows(
      `insert into training.activities (account_id, path, listed_at, wanted_at) values ($1, $2, now(), now())`,
      [rig.account.accountId, only?.path],
    )
    await rig.fetchWanted()
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored', attempts: 1, activityPath: only?.path })
    expect((await rig.find(ride))?.mirroredAt).toBeInstanceOf(Date)
  })

  const inRide = Date.UTC(2026, 4, 3, 8, 0, 58) / 1_000 - FIT_EPOCH_S
  it.each<[string, Buffer, number]>([
    ['a minute off the FIT session', ride, inRide],
    ['its first record, which is far from the session', makeOddStart(T0 - 86_400, T0), T0 - 86_400],
    ['its first record inside of the session', makeOddStart(T0 - 86_400, T0 + 1_200), T0 + 1_200],
    ['the time since the device was switched on', makeOddStart(5_000, 5_001, 5_000), 5_000],
  ])('is found when the service starts the activity at %s', async (_, bytes, seconds) => {
    const only = await loseAnswer(bytes)
    const started_at = new Date((seconds + FIT_EPOCH_S) * 1_000).toISOString()
    await rig.steer('PATCH', `activities/${only?.path}`, { started_at })
    await rig.sweep()
    expect(await rig.find(bytes)).toMatchObject({ state: 'accepted', attempts: 1, activityPath: only?.path })
  })

  it('is sent again only after the waiting time, if the service has no activity', async () => {
    await loseFile()
    for (let minute = 0; minute < 14; minute++) {
      await rig.sweep()
      expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'wait' })
      rig.ahead(MINUTE)
    }
    const { requests } = await rig.steer<{ requests: Record<string, number> }>('GET', 'counts')
    expect(requests['GET /oauth/activity']).toBeGreaterThan(3)
    expect(requests['GET /oauth/activity']).toBeLessThan(15)
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed', attempts: 1 })
    rig.ahead(2 * MINUTE)
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'seen' })
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', attempts: 2 })
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('of a 5xx is checked first, and sent again within seconds', async () => {
    await rig.fault({ kind: 'status', status: 502 })
    await rig.importFile('ride.fit', ride)
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed' })
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed' })
    rig.ahead(20 * SECOND)
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', attempts: 2 })
  })

  it('of an HTML page with status 200 is checked, not accepted as a result', async () => {
    await rig.fault({ kind: 'html' })
    await rig.importFile('ride.fit', ride)
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed' })
  })

  it('is not matched with an older activity of the same start', async () => {
    await rig.steer('POST', 'activities', { started_at: '2026-05-03T08:00:00Z', seconds: 60, path: 'before' })
    await rig.rows(
      `insert into training.activities (account_id, path, listed_at, wanted_at, first_seen_at)
       values ($1, 'before', now(), now(), now() - interval '1 hour')`,
      [rig.account.accountId],
    )
    await loseFile()
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed', activityPath: null })
    rig.ahead(16 * MINUTE)
    await rig.sweep()
    await rig.importFile('ride.fit', ride)
    const row = await rig.find(ride)
    expect(row).toMatchObject({ state: 'accepted', attempts: 2 })
    expect(row?.activityPath).not.toBe('before')
  })

  it('of two devices on one ride gives each its own activity', async () => {
    const other = makeRide({ start: '2026-05-03T08:00:40Z', seed: 2 })
    await loseAnswer(ride, 'a.fit')
    await loseAnswer(other, 'b.fit')
    await rig.sweep()
    const names = new Map((await rig.uploaded()).map(({ path, name }) => [path, name]))
    expect(names.size).toBe(2)
    for (const [bytes, name] of [[ride, 'a.fit'] as const, [other, 'b.fit'] as const]) {
      const row = await rig.find(bytes)
      expect(row).toMatchObject({ state: 'accepted', attempts: 1 })
      expect(names.get(row?.activityPath ?? '')).toBe(name)
    }
  })

  it('is not matched with the activity of another file, or of one that is nearer', async () => {
    const near = makeRide({ start: '2026-05-03T08:00:40Z', seed: 2 })
    await loseFile(near, 'near.fit')
    await loseAnswer()
    const same = makeRide({ seed: 3 })
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted' })
    expect(await rig.find(near)).toMatchObject({ state: 'unconfirmed', activityPath: null })
    await loseFile(same, 'same.fit')
    await rig.sweep()
    expect(await rig.find(same)).toMatchObject({ state: 'unconfirmed', activityPath: null })
  })

  it('stays unconfirmed, and says so, while two activities match', async () => {
    const only = await loseAnswer()
    await rig.steer('PATCH', `activities/${only?.path}`, { name: 'Renamed' })
    await rig.steer('POST', 'activities', { started_at: '2026-05-03T08:00:00Z', seconds: 60, path: 'twin' })
    await rig.sweep()
    rig.ahead(20 * MINUTE)
    await rig.sweep()
    const row = await rig.find(ride)
    expect(row).toMatchObject({ state: 'unconfirmed', attempts: 1 })
    expect(row?.reason).toContain('twin')
    expect(row?.reason).toContain('musette upload --force')
  })

  it('is checked again later when the list cannot be fetched', async () => {
    await loseAnswer()
    await rig.fault({ path: '^/oauth/activity$', kind: 'status', status: 429, retry_after: 1 })
    await expect(rig.sweep()).rejects.toMatchObject({ code: 'rate_limited' })
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed' })
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed' })
    rig.ahead(MINUTE)
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', attempts: 1 })
  })
})
