import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { findUpload, type Upload } from '../../../src/core/store/uploads/uploads.ts'
import { checkRefusal, checkUpload } from '../../../src/core/upload/check-upload.ts'
import type { Listed, UploadDeps } from '../../../src/core/upload/upload-deps.ts'
import { RejectedError } from '../../../src/kit/errors.ts'
import { DAY, MINUTE, SECOND } from '../../../src/kit/time.ts'
import { useUploadRig } from './rig.ts'

const START = new Date('2026-05-03T08:00:00Z')
const NOW = new Date('2026-05-03T10:00:00Z')
const { signal } = new AbortController()

let now: Date
let listed: Listed[]
let lists: Array<Parameters<UploadDeps['listStarted']>>
let deps: UploadDeps
const rig = useUploadRig()
beforeEach(() => {
  now = NOW
  listed = []
  lists = []
  const listStarted: UploadDeps['listStarted'] = async (...asked) => {
    lists.push(asked)
    return listed
  }
  deps = { ...rig.deps, now: () => now, listStarted }
  // The maximum of each pause; half of it is random.
  vi.spyOn(Math, 'random').mockReturnValue(1)
})
afterEach(() => void vi.restoreAllMocks())

/** Records an upload in some state, of a file that starts at START, with the relevant columns. */
async function make(columns: Record<string, unknown>): Promise<void> {
  const { accountId: account_id } = rig.account
  const row = {
    ...{ account_id, content_id: 'c', file_name: 'ride.fit', size_bytes: 1, attempts: 1 },
    ...{ started_at: START, seen_at: NOW, next_try_at: NOW, ...columns },
  }
  const names = Object.keys(row)
  const places = names.map((_, index) => `$${index + 1}`)
  await rig.rows(`insert into training.uploads (${names}) values (${places}) returning 1`, Object.values(row))
}

const check = () => checkUpload(deps, { account: rig.account, contentId: 'c', signal })
/** Checks the upload each time it is due, until it no longer is; returns the pauses in s, and the last row. */
async function checkToEnd() {
  const pauses: number[] = []
  let row: Upload | undefined
  for (let due: Date | null = now; due; due = row?.nextTryAt ?? null) {
    pauses.push((due.getTime() - now.getTime()) / SECOND)
    now = due
    row = await check()
  }
  return { pauses: pauses.slice(1), row }
}

it('an upload without a response is checked with backoff and resent after 15 minutes', async () => {
  const resendAfter = new Date(NOW.getTime() + 15 * MINUTE)
  await make({ state: 'sending', next_try_at: new Date(NOW.getTime() + 1) })
  expect(await check()).toBeUndefined()
  now = new Date(NOW.getTime() + 1)
  expect(await check()).toMatchObject({ state: 'unconfirmed', checks: 1, attempts: 1 })
  await rig.rows(`update training.uploads set resend_after = $1, next_try_at = $2, checks = 0`, [
    resendAfter,
    NOW,
  ])
  now = NOW
  const { pauses, row } = await checkToEnd()
  expect(pauses).toEqual([5, 15, 45, 135, 300, 300, 100])
  expect(row).toMatchObject({ state: 'seen', reason: expect.stringContaining('sends it again'), checks: 0 })
  const span = { from: new Date(START.getTime() - DAY), to: new Date(START.getTime() + DAY) }
  expect(lists[0]).toEqual([rig.account, span, signal])
  expect(lists[0]?.[2]).toBe(signal)
})

it('an accepted upload without its activity is checked with backoff for a week', async () => {
  await make({ state: 'accepted', accepted_at: NOW, activity_path: 'gone' })
  const { pauses, row } = await checkToEnd()
  expect(pauses).toEqual([10, 40, 160, 640, 2_560, 10_240, 40_960, ...Array(7).fill(86_400)])
  expect(row).toMatchObject({ state: 'accepted', checks: 15, nextTryAt: null })
  expect(row?.reason).toBe('the service no longer shows activity gone, nor another with its start')
  expect(await check()).toBeUndefined()
})

it('another activity with the same start can replace a missing one after 30 s', async () => {
  const woken: unknown[] = []
  deps.onWanted = async (wanted) => void woken.push(wanted)
  listed = [{ path: 'other', name: null, startedAt: new Date(START.getTime() + 2 * MINUTE) }]
  await make({ state: 'accepted', accepted_at: NOW, activity_path: 'gone' })
  now = new Date(NOW.getTime() + 30 * SECOND - 1)
  expect(await check()).toMatchObject({ activityPath: 'gone', checks: 1 })
  now = new Date(NOW.getTime() + 30 * SECOND)
  await rig.rows('update training.uploads set next_try_at = $1', [now])
  const replaced = await check()
  expect(replaced).toMatchObject({ state: 'accepted', activityPath: 'other', checks: 0 })
  expect(woken).toEqual([{ accountId: rig.account.accountId, activityId: replaced?.activityId }])
  // A mirrored upload is checked once, at any time.
  await rig.rows(
    `update training.uploads set state = 'mirrored', mirrored_at = now(), checks = 1, next_try_at = null`,
  )
  expect(await check()).toBeUndefined()
})

const no = new RejectedError('success_false', 'no')
const rejected = (status: number) => new RejectedError(`http_${status}`, 'no', { status })
it.each<[string, RejectedError, number, isListed: boolean, object | undefined]>([
  ['without listing its activity', no, 1, false, undefined],
  ['and lists its activity', no, 1, true, { state: 'duplicate', activityPath: 'p' }],
  ['with 409', rejected(409), 1, true, { state: 'duplicate' }],
  ['with 410', rejected(410), 1, true, undefined],
  ['the second time', no, 2, true, { state: 'accepted', activityPath: 'p' }],
])(
  'a file that the service refuses %s gets the right state',
  async (_, error, attempts, isListed, expected) => {
    if (isListed) listed = [{ path: 'p', name: null, startedAt: START }]
    await make({ state: 'sending', attempts })
    const key = { accountId: rig.account.accountId, contentId: 'c' }
    const upload = await rig.app.store.read((tx) => findUpload(tx, key))
    if (!upload) throw new Error('it is in the ledger')
    const known = await checkRefusal(deps, { account: rig.account, signal }, { upload, error })
    if (expected) expect(known).toMatchObject(expected)
    else expect(known).toBeUndefined()
    for (const asked of lists) expect(asked[2]).toBe(signal)
  },
)
