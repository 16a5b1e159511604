import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Account } from '../../../src/core/store/account-rows.ts'
import type { Upload } from '../../../src/core/store/uploads/uploads.ts'
import { importFile } from '../../../src/core/upload/import-file.ts'
import type { UploadDeps } from '../../../src/core/upload/upload-deps.ts'
import { judgeFailure } from '../../../src/core/upload/upload-outcome.ts'
import {
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../../src/kit/errors.ts'
import { DAY, MINUTE, SECOND } from '../../../src/kit/time.ts'

const NOW = new Date('2026-05-03T08:00:00Z')
const abort = () => new DOMException('stop', 'AbortError')
const later = (ms: number) => new Date(NOW.getTime() + ms)

describe('an upload that failed', () => {
  // The maximum of each pause; half of it is random.
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
  const limited = new RateLimitedError('rate_limited', '429', MINUTE)

  it.each<[what: string, attempts: number, state: string, pauseMs: number | null, error: unknown]>([
    ['a refusal', 1, 'refused', null, rejected],
    ['a refusal', 2, 'refused', 20 * SECOND, rejected],
    ['a refusal', 99, 'refused', DAY, rejected],
    ['no connection', 1, 'seen', 5 * SECOND, away],
    ['no connection', 3, 'seen', 45 * SECOND, away],
    ['no connection', 99, 'seen', 15 * MINUTE, away],
    ['a connection that was closed before the last bytes', 1, 'seen', 5 * SECOND, closed],
    ['a rate limit of a minute', 1, 'seen', MINUTE, limited],
    ['a rate limit of a minute', 9, 'seen', 15 * MINUTE, limited],
    ['a stop of the daemon', 1, 'seen', null, abort()],
  ])('by %s at attempt %i becomes %s for %s ms', (_, attempts, state, pauseMs, error) => {
    expect(judge(error, attempts)).toEqual({ state, nextTryAt: pauseMs && later(pauseMs) })
  })

  it('after its body was sent is checked at once, and sent again later', () => {
    const unconfirmed = { state: 'unconfirmed', nextTryAt: NOW, checks: 0 }
    const html = new UnexpectedResponseError('not_json', 'HTML')
    for (const error of [lost, html])
      expect(judge(error)).toEqual({ ...unconfirmed, resendAfter: later(15 * MINUTE) })
    expect(judge(broken)).toEqual({ ...unconfirmed, resendAfter: later(15 * SECOND) })
    expect(judge(abort(), 1, true)).toEqual({ ...unconfirmed, resendAfter: later(15 * MINUTE) })
    expect(judge(away, 1, true)).toMatchObject({ state: 'seen' })
  })
})

describe('a file in the drop folder', () => {
  const said: unknown[][] = []
  const problems = { say: (...args: unknown[]) => void said.push(args), over: () => undefined }
  const deps = { problems, now: () => NOW } as unknown as UploadDeps
  const file = { account: {} as Account, name: 'a.fit', restingSince: NOW, changedAt: NOW }
  const importWith = (error: Error, more: { signal?: AbortSignal } = {}) => {
    said.length = 0
    return importFile(deps, { ...file, open: () => Promise.reject(error), ...more })
  }

  it.each([
    [new TransientError('connect_failed', 'away'), 'warn', 'outage', 'uploads wait: away'],
    [new RateLimitedError('rate_limited', 'wait', 1), 'warn', 'outage', 'uploads wait: wait'],
    [new UnexpectedResponseError('not_json', 'HTML'), 'error', 'a.fit', 'a.fit waits: HTML'],
    [new Error('no idea'), 'error', 'a.fit', expect.stringContaining('a.fit waits: ')],
  ])('waits 15 s after %s and logs the reason', async (error, ...expected) => {
    expect(await importWith(error)).toEqual({ action: 'wait', dueAt: later(15 * SECOND) })
    expect(said.map((args) => args.slice(0, 3))).toEqual([expected])
  })

  it('throws if the disk fails or the file changed, and waits if the daemon stops', async () => {
    for (const code of ['file_changed', 'not_a_folder'])
      await expect(importWith(new TransientError(code, 'it changed'))).rejects.toThrow('it changed')
    await expect(importWith(Object.assign(new Error('EIO'), { syscall: 'read' }))).rejects.toThrow('EIO')
    expect(await importWith(abort(), { signal: AbortSignal.abort() })).toEqual({ action: 'wait' })
    expect(said).toEqual([])
  })
})
