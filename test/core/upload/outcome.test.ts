import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sourceOf } from '../../../src/core/fit/unpack.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import type { Claims, Upload } from '../../../src/core/store/uploads/uploads.ts'
import { importFile } from '../../../src/core/upload/import-file.ts'
import type { UploadDeps } from '../../../src/core/upload/upload-deps.ts'
import { isNew, judgeFailure } from '../../../src/core/upload/upload-outcome.ts'
import {
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../../src/kit/errors.ts'
import { DAY, MINUTE, SECOND } from '../../../src/kit/time.ts'
import { makeRide } from '../../kit/ride.ts'

const NOW = new Date('2026-05-03T08:00:00Z')
const abort = () => new DOMException('stop', 'AbortError')
const later = (ms: number) => new Date(NOW.getTime() + ms)

describe('a request that failed', () => {
  // The longest pause of each; half of it is random.
  beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(1))
  afterEach(() => vi.restoreAllMocks())
  const judge = (error: unknown, attempts = 1, bodySent = false) => {
    const upload = { attempts } as Upload
    const { reason: _, ...change } = judgeFailure({ upload, error, bodySent, now: NOW })
    return change
  }
  const rejected = new RejectedError('http_413', '413', { status: 413 })
  const away = new TransientError('connect_failed', 'away')
  const lost = new TransientError('connection_lost', 'lost', { requestSent: true })
  const broken = new TransientError('server_error', '502', { requestSent: true })
  const closed = new TransientError('connection_lost', 'closed', {
    ...{ requestSent: true, cause: Object.assign(new Error('EPIPE'), { code: 'EPIPE' }) },
  })

  it.each([
    [1, null],
    [2, 20 * SECOND],
    [3, 80 * SECOND],
    [99, DAY],
  ])('by a refusal at attempt %i makes it refused for %s ms', (attempts, pauseMs) => {
    expect(judge(rejected, attempts)).toEqual({ state: 'refused', nextTryAt: pauseMs && later(pauseMs) })
  })

  it.each([
    [1, 5 * SECOND],
    [2, 15 * SECOND],
    [3, 45 * SECOND],
    [99, 15 * MINUTE],
  ])('before its body had left at attempt %i is repeated after %i ms', (attempts, pauseMs) => {
    for (const error of [away, closed])
      expect(judge(error, attempts)).toEqual({ state: 'seen', nextTryAt: later(pauseMs) })
  })

  it.each([
    [1, 60 * SECOND],
    [9, 15 * MINUTE],
  ])('by a rate limit of a minute at attempt %i is repeated after %i ms', (attempts, pauseMs) => {
    const limited = new RateLimitedError('rate_limited', '429', MINUTE)
    expect(judge(limited, attempts)).toEqual({ state: 'seen', nextTryAt: later(pauseMs) })
  })

  it('after its body had left is checked at once, and sent again later', () => {
    const unconfirmed = { state: 'unconfirmed', nextTryAt: NOW, checks: 0 }
    const html = new UnexpectedResponseError('not_json', 'HTML')
    for (const error of [lost, html])
      expect(judge(error)).toEqual({ ...unconfirmed, resendAfter: later(15 * MINUTE) })
    expect(judge(broken)).toEqual({ ...unconfirmed, resendAfter: later(15 * SECOND) })
    expect(judge(abort(), 1, true)).toEqual({ ...unconfirmed, resendAfter: later(15 * MINUTE) })
    expect(judge(away, 1, true)).toMatchObject({ state: 'seen' })
  })

  it('by a stop of the daemon costs no pause', () => {
    expect(judge(abort())).toEqual({ state: 'seen', nextTryAt: null })
  })
})

describe('an activity of the list', () => {
  const seenAt = NOW
  const claims = (firstSeenAt?: Date): Claims => ({
    claimed: new Map([['other', 'other.fit']]),
    known: new Map(firstSeenAt && [['p', { path: 'p', activityId: 1, firstSeenAt, complete: false }]]),
    rivals: [],
  })
  it.each<[string, Claims, boolean]>([
    ['p', claims(), true],
    ['other', claims(), false],
    ['p', claims(later(-MINUTE)), true],
    ['p', claims(later(-MINUTE - 1)), false],
  ])('%s can have come from a file, by %o: %s', (path, known, expected) => {
    expect(isNew({ seenAt } as Upload, known, path)).toBe(expected)
  })
})

describe('a file of the drop folder', () => {
  const said: unknown[][] = []
  const problems = { say: (...args: unknown[]) => void said.push(args), over: () => undefined }
  const deps = { problems, now: () => NOW } as unknown as UploadDeps
  const file = { account: {} as Account, name: 'a.fit', restingSince: NOW, changedAt: NOW }
  const importWith = (error: Error, more: { signal?: AbortSignal } = {}) => {
    said.length = 0
    return importFile(deps, { ...file, open: () => Promise.reject(error), ...more })
  }
  const outcome = { action: 'wait', dueAt: later(15 * SECOND) }

  it.each([
    [new TransientError('connect_failed', 'away'), 'warn', 'outage', 'uploads wait: away'],
    [new RateLimitedError('rate_limited', 'wait', 1), 'warn', 'outage', 'uploads wait: wait'],
    [new UnexpectedResponseError('not_json', 'HTML'), 'error', 'a.fit', 'a.fit waits: HTML'],
    [new Error('no idea'), 'error', 'a.fit', expect.stringContaining('a.fit waits: ')],
  ])('waits 15 s after %s, with the reason', async (error, ...expected) => {
    expect(await importWith(error)).toEqual(outcome)
    expect(said.map((args) => args.slice(0, 3))).toEqual([expected])
  })

  it('stays in its folder when the disk fails or it changed, and waits when the daemon stops', async () => {
    for (const code of ['file_changed', 'outside_folder'])
      await expect(importWith(new TransientError(code, 'it changed'))).rejects.toThrow('it changed')
    await expect(importWith(Object.assign(new Error('EIO'), { syscall: 'read' }))).rejects.toThrow('EIO')
    expect(await importWith(abort(), { signal: AbortSignal.abort() })).toEqual({ action: 'wait' })
    expect(said).toEqual([])
  })

  it.each([
    ['a ride', makeRide()],
    ['noise', Buffer.from('no FIT file at all, for sure')],
  ])('with %s that changed while it was read stays in its folder', async (_, bytes) => {
    const check = () => Promise.reject(new TransientError('file_changed', 'it changed'))
    const open = async () => ({ ...sourceOf(bytes), check })
    await expect(importFile(deps, { ...file, open })).rejects.toThrow('it changed')
  })
})
