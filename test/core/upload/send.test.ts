import { describe, expect, it } from 'vitest'
import { recordReplaced } from '../../../src/core/upload/upload-outcome.ts'
import { TransientError } from '../../../src/kit/errors.ts'
import { MINUTE } from '../../../src/kit/time.ts'
import { makeRide } from '../../kit/ride.ts'
import { type UploadRig, useUploadRig } from './rig.ts'

let rig: UploadRig
useUploadRig((opened) => {
  rig = opened
})

const ride = makeRide()

describe('a file', () => {
  it('is sent once, and its ledger row and activity show the whole upload', async () => {
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    const accepted = await rig.find(ride)
    expect(accepted).toMatchObject({ state: 'accepted', attempts: 1, fileName: 'ride.fit', reason: null })
    expect(accepted?.startedAt?.toISOString()).toBe('2026-05-03T08:00:00.000Z')
    await rig.fetchWanted()
    const story = await rig.rows(
      `select u.state, u.sent_at <= u.accepted_at as in_order, u.mirrored_at is not null as here, a.xss > 0 as scored,
         a.started_at = u.started_at as same_start, (select count(*)::int from training.samples s
           where s.activity_id = a.activity_id) as samples
       from training.uploads u join training.activities a using (activity_id)`,
    )
    expect(story).toEqual([
      { state: 'mirrored', in_order: true, here: true, scored: true, same_start: true, samples: 60 },
    ])
    const [one, ...others] = await rig.uploaded()
    expect(one).toMatchObject({ path: accepted?.activityPath, name: 'ride.fit' })
    expect(others).toEqual([])
  })

  it('starts one fetch of its activity, and none when the service already had the activity', async () => {
    const woken: number[] = []
    const onWanted = async ({ activityId }: { activityId: number }) => {
      woken.push(activityId)
      throw new Error('the queue is away')
    }
    const deps = { ...rig.deps, onWanted }
    expect(await rig.importFile('ride.fit', ride, { deps })).toEqual({ action: 'done' })
    expect(woken).toEqual([(await rig.find(ride))?.activityId])
    await rig.importFile('again.fit', ride, { deps })
    expect(woken).toHaveLength(1)
  })

  it('that became another activity marks the former one as absent', async () => {
    await rig.importFile('ride.fit', ride)
    const upload = await rig.find(ride)
    const absent = async (path: string | null | undefined) => {
      if (!upload || !path) throw new Error('the file is in the ledger with its activity')
      await rig.app.store.transaction((tx) => recordReplaced(tx, { upload, path, now: new Date() }))
      const [row] = await rig.rows('select absent_since is not null as absent from training.activities')
      return row?.absent
    }
    expect(await absent(upload?.activityPath)).toBe(false)
    expect(await absent('another')).toBe(true)
  })

  it('that was uploaded but not moved before a crash is moved without being sent again', async () => {
    await rig.importFile('ride.fit', ride)
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    await rig.fetchWanted()
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.uploaded()).toHaveLength(1)
    expect(await rig.find(ride)).toMatchObject({ state: 'mirrored', attempts: 1 })
  })

  it('of the same bytes under another name is reported as a duplicate, and the first row stays', async () => {
    await rig.importFile('ride.fit', ride)
    const before = await rig.find(ride)
    const again = await rig.importFile('copy.fit', ride)
    for (const part of [
      'uploaded as "ride.fit"',
      `activity ${before?.activityPath}`,
      'Nothing needs to be done',
      'musette upload --force FILE',
    ])
      expect(again).toMatchObject({ action: 'failed', text: expect.stringContaining(part) })
    expect(await rig.find(ride)).toEqual(before)
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('of the same ride from another device is another activity when known rides are sent', async () => {
    const other = makeRide({ seed: 2 })
    const deps = { ...rig.deps, knownActivities: 'send' as const }
    expect(await rig.importFile('a.fit', ride, { deps })).toEqual({ action: 'done' })
    expect(await rig.importFile('b.fit', other, { deps })).toEqual({ action: 'done' })
    expect(await rig.uploaded()).toHaveLength(2)
    const [first, second] = [await rig.find(ride), await rig.find(other)]
    expect([first?.state, second?.state]).toEqual(['accepted', 'accepted'])
    expect(first?.activityPath).not.toBe(second?.activityPath)
  })

  it('goes with a refreshed token when the first is refused', async () => {
    await rig.steer('POST', 'tokens/expire')
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('that the service refuses moves to failed/ with the reason, and is sent again when moved back', async () => {
    await rig.fault({ kind: 'status', status: 413 })
    const restingSince = rig.deps.now()
    const text = expect.stringMatching(/413.*move the file back/s)
    expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'failed', text })
    expect(await rig.find(ride)).toMatchObject({ state: 'refused', attempts: 1 })
    expect(await rig.importFile('ride.fit', ride, { restingSince })).toMatchObject({ action: 'failed' })
    expect(await rig.find(ride)).toMatchObject({ attempts: 1 })
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', attempts: 2, reason: null })
  })

  it('that is refused repeatedly waits longer each time', async () => {
    await rig.fault({ kind: 'status', status: 400, times: 'always' })
    await rig.importFile('ride.fit', ride)
    expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'failed' })
    expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'wait', dueAt: expect.any(Date) })
    expect(await rig.find(ride)).toMatchObject({ state: 'refused', attempts: 2 })
    rig.ahead(MINUTE)
    expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'failed' })
    expect(await rig.find(ride)).toMatchObject({ state: 'refused', attempts: 3 })
  })
})

describe('an outage', () => {
  it('with 429 delays the file as the service requires, without a refusal', async () => {
    await rig.fault({ kind: 'status', status: 429, retry_after: 1 })
    const first = await rig.importFile('ride.fit', ride)
    expect(first).toMatchObject({ action: 'wait' })
    expect(await rig.find(ride)).toMatchObject({ state: 'seen', attempts: 1 })
    expect(await rig.importFile('ride.fit', ride)).toEqual(first)
    rig.ahead(MINUTE)
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('of hours is bridged by attempts with growing pauses, and logged once', async () => {
    const uploadFit = fail('connect_failed', 'upload of ride.fit: the service cannot be reached')
    const gone = { ...rig.deps, serviceOf: () => ({ ...rig.deps.serviceOf(rig.account), uploadFit }) }
    const pauses: number[] = []
    for (let round = 0; round < 9; round++) {
      const outcome = await rig.importFile('ride.fit', ride, { deps: gone })
      if (outcome.action !== 'wait' || !outcome.dueAt)
        throw new Error(`it does not wait but ${outcome.action}`)
      const pause = outcome.dueAt.getTime() - rig.deps.now().getTime()
      pauses.push(pause)
      rig.ahead(pause + 1_000)
    }
    expect(Math.max(...pauses)).toBeGreaterThan(5 * MINUTE)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(15 * MINUTE)
    expect(await rig.find(ride)).toMatchObject({ state: 'seen', attempts: 9 })
    const said = rig.log.lines.filter(({ level, msg }) => level === 'warn' && msg === 'file not uploaded')
    expect(said).toHaveLength(1)
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('of the database leaves the file waiting', async () => {
    const refuse = fail('database_unreachable', 'the database cannot be reached')
    const broken = { ...rig.deps, store: { ...rig.deps.store, read: refuse, transaction: refuse } }
    expect(await rig.importFile('ride.fit', ride, { deps: broken })).toMatchObject({ action: 'wait' })
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
  })
})

function fail(code: string, message: string): () => Promise<never> {
  return () => Promise.reject(new TransientError(code, message))
}
