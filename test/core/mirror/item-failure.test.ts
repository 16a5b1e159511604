import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  fetchServiceState,
  inHalves,
  isGone,
  isItemFailure,
  recordFailure,
} from '../../../src/core/mirror/failures.ts'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import type { WantedActivity } from '../../../src/core/store/activities/wanted.ts'
import {
  ConfigError,
  CredentialsRejectedError,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../../src/kit/errors.ts'
import { DAY, MINUTE } from '../../../src/kit/time.ts'

const away = new TransientError('connect_failed', 'the service cannot be reached')
const gone = new TransientError('database_unreachable', 'the database cannot be reached')
const busy = new TransientError('database_busy', 'the database is busy')

it.each([
  [new TransientError('server_error', '500'), true],
  [new TransientError('cut_answer', 'half'), true],
  [away, false],
  [new UnexpectedResponseError('not_json', 'HTML'), true],
  [new Error('a row that cannot be written'), true],
  [new RateLimitedError('rate_limited', 'wait', 1), false],
  [new CredentialsRejectedError('login_needed', 'login'), false],
  [new ConfigError('bad', 'setting'), false],
])('%s counts as a failure of one item: %s', (error, isOfItem) => {
  expect(isItemFailure(error)).toBe(isOfItem)
})

describe('the failure of an activity', () => {
  const requestedAt = new Date('2026-05-03T08:00:00Z')
  /** Returns what is written to the row, and the maximum pause; half of each pause is random. */
  const record = async (activity: Partial<WantedActivity>, error: Error) => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    onTestFinished(() => void vi.restoreAllMocks())
    const written: Array<Record<string, unknown>> = []
    const query = async (text: string, [rows]: unknown[]) => {
      if (text.startsWith('UPDATE')) written.push(...JSON.parse(String(rows)))
      return { rows: [{ activity_id: 1, older: false }] }
    }
    const tx = { client: { query } }
    const transaction = (work: (tx: unknown) => Promise<unknown>) => work(tx)
    const deps = { store: { transaction }, now: () => requestedAt } as unknown as MirrorDeps
    const known = { activityId: 1, fetchAttempts: 0, startedAt: null, fetchedAt: null, ...activity }
    await recordFailure(deps, { activity: known as WantedActivity, requestedAt, error })
    return written[0]
  }
  const broken = new UnexpectedResponseError('not_json', 'HTML')

  it.each([
    [0, 5 * MINUTE],
    [2, 45 * MINUTE],
    [20, DAY],
  ])('after %i others is recorded in its row and retried within %i ms', async (fetchAttempts, ms) => {
    expect(await record({ fetchAttempts }, broken)).toEqual({
      ...{ activityId: 1, detailState: 'failed', fetchAttempts: fetchAttempts + 1, fetchError: 'HTML' },
      nextFetchAt: new Date(requestedAt.getTime() + ms).toISOString(),
    })
  })

  it.each<[Partial<WantedActivity>, number, boolean]>([
    [{ startedAt: requestedAt }, 404, true],
    [{ fetchedAt: requestedAt }, 410, true],
    [{ startedAt: requestedAt }, 403, false],
    [{}, 404, false],
  ])('of %j with a %i may mean that it is gone: %s', (activity, status, mayBeGone) => {
    const known = { startedAt: null, fetchedAt: null, ...activity } as WantedActivity
    expect(isGone(known, new RejectedError(`http_${status}`, 'no', { status }))).toBe(mayBeGone)
  })

  it('is not recorded in its row if it affects every activity', async () => {
    expect(await record({}, away)).toBeUndefined()
  })
})

it.each<[what: string, error: Error, bad: number[], sizes: string, results: string]>([
  ['in halves around one that fails', new Error('refused'), [1], '5 3 2 1 1 1 2', '0 - 2 3 4'],
  ['only once while the database is down', gone, [1], '5', '- - - - -'],
  ['one by one while it is busy', busy, [0, 1, 2, 3, 4], '5 3 2 1 1 1 2 1 1', '- - - - -'],
])('items are processed together, %s', async (_, error, bad, sizes, results) => {
  const tried: number[] = []
  const work = async (items: readonly number[]) => {
    tried.push(items.length)
    if (items.some((item) => bad.includes(item))) throw error
    return items.map(String)
  }
  const ended = await inHalves([0, 1, 2, 3, 4], work, async (items) => items.map(() => '-'))
  expect([tried.join(' '), ended.join(' ')]).toEqual([sizes, results])
})

// own-failures.test.ts and activities.test.ts have services whose activities fail, some or all.
it.each([
  ['a list', undefined, 'answers'],
  ['no list', away, 'outage'],
  ['a limited list', new RateLimitedError('rate_limited', 'wait', 1), 'outage'],
])('a service with %s and no known activity is recognized as up or down', async (_, error, state) => {
  const service = { listActivities: () => (error ? Promise.reject(error) : Promise.resolve()) }
  const store = { read: async () => undefined }
  const deps = { serviceOf: () => service, store, now: () => new Date() } as unknown as MirrorDeps
  expect(await fetchServiceState(deps, { account: {} as Account })).toBe(state)
})
