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

it.each([
  [new TransientError('server_error', '500'), true],
  [new TransientError('cut_answer', 'half'), true],
  [away, false],
  [new UnexpectedResponseError('not_json', 'HTML'), true],
  [new Error('a row that cannot be written'), true],
  [new RateLimitedError('rate_limited', 'wait', 1), false],
  [new CredentialsRejectedError('login_needed', 'login'), false],
  [new ConfigError('bad', 'setting'), false],
])('%s is a failure of one item: %s', (error, isOfItem) => {
  expect(isItemFailure(error)).toBe(isOfItem)
})

describe('the failure of an activity', () => {
  const requestedAt = new Date('2026-05-03T08:00:00Z')
  /** Returns what is written to the row; the longest of each pause, half of which is random. */
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
    [1, 15 * MINUTE],
    [2, 45 * MINUTE],
    [20, DAY],
  ])(
    'after %i others is in its row, and it is fetched again after %i ms at most',
    async (fetchAttempts, ms) => {
      expect(await record({ fetchAttempts }, broken)).toEqual({
        ...{ activityId: 1, detailState: 'failed', fetchAttempts: fetchAttempts + 1, fetchError: 'HTML' },
        nextFetchAt: new Date(requestedAt.getTime() + ms).toISOString(),
      })
    },
  )

  it.each<[Partial<WantedActivity>, number, boolean]>([
    [{ startedAt: requestedAt }, 404, true],
    [{ fetchedAt: requestedAt }, 410, true],
    [{ startedAt: requestedAt }, 403, false],
    [{}, 404, false],
  ])('of %j by a %i may be the end of it: %s', (activity, status, mayBeGone) => {
    const known = { startedAt: null, fetchedAt: null, ...activity } as WantedActivity
    expect(isGone(known, new RejectedError(`http_${status}`, 'no', { status }))).toBe(mayBeGone)
  })

  it('that concerns every activity is not recorded on one', async () => {
    expect(await record({}, away)).toBeUndefined()
  })
})

describe('work on items together', () => {
  /** Works on items of which some cannot be written; returns the sizes of what was tried, and the results. */
  const run = async (bad: readonly number[], error: Error, count = 5) => {
    const tried: number[] = []
    const items = Array.from({ length: count }, (_, index) => index)
    const results = await inHalves(
      items,
      async (part) => {
        tried.push(part.length)
        if (part.some((item) => bad.includes(item))) throw error
        return part.map(String)
      },
      async (part, why) => part.map((item) => `${item} ${String(why)}`),
    )
    return { tried, results }
  }

  it('is done together, in halves around a failing item, and not without items', async () => {
    const refused = new Error('refused')
    expect(await run([], refused)).toEqual({ tried: [5], results: ['0', '1', '2', '3', '4'] })
    expect(await run([1], refused)).toEqual({
      tried: [5, 3, 2, 1, 1, 1, 2],
      results: ['0', '1 Error: refused', '2', '3', '4'],
    })
    expect(await run([], refused, 0)).toEqual({ tried: [], results: [] })
  })

  it('ends for all items when the database is away, and not when it is busy', async () => {
    expect((await run([1], gone)).tried).toEqual([5])
    expect((await run([1], away)).results).toHaveLength(5)
    const busy = new TransientError('database_busy', 'the database is busy')
    expect((await run([0, 1, 2, 3, 4], busy)).tried).toHaveLength(9)
  })
})

describe('a service of which some requests fail', () => {
  const state = async (of: {
    list?: Error
    detail?: (path: string) => Error | undefined
    known?: string
    others?: string[]
    signal?: AbortSignal
  }) => {
    const asked: unknown[] = []
    const service = {
      listActivities: async ({ from, to }: { from: Date; to: Date }) => {
        asked.push(to.getTime() - from.getTime())
        if (of.list) throw of.list
      },
      fetchActivity: async (path: string, options: unknown) => {
        expect(options).toEqual({ samples: false })
        asked.push(path)
        const error = of.detail?.(path)
        if (error) throw error
      },
    }
    const deps = {
      ...{ serviceOf: () => service, now: () => new Date() },
      store: { read: async () => of.known },
    } as unknown as MirrorDeps
    const { others, signal } = of
    const found = await fetchServiceState(deps, { account: {} as Account, ...(others && { others }), signal })
    return { found, asked }
  }
  const limited = new RateLimitedError('rate_limited', 'wait', 1)
  const refused = new RejectedError('not_found', 'no such activity', { status: 404 })
  const others = ['a', 'b']
  const notA = (path: string) => (path === 'a' ? away : undefined)

  // What is asked of the list is a window of no length; of activities only the summary.
  it.each<[string, Parameters<typeof state>[0], 'outage' | 'answers', string]>([
    ['without a list', { list: away }, 'outage', '0'],
    ['with a limited list', { list: limited }, 'outage', '0'],
    ['with a list', {}, 'answers', '0'],
    ['when a known activity arrives', { known: 'known', others }, 'answers', '0 known'],
    ['when the known one does not', { known: 'known', others, detail: () => away }, 'outage', '0 known'],
    ['when none of the others arrives', { others, detail: () => away }, 'outage', '0 a b'],
    ['when the second of others arrives', { others, detail: notA }, 'answers', '0 a b'],
    ['when an activity is refused', { others, detail: () => refused }, 'answers', '0 a'],
  ])('%s', async (_, of, found, asked) => {
    const ended = await state(of)
    expect([ended.found, ended.asked.join(' ')]).toEqual([found, asked])
  })

  it('is not checked when the daemon stops', async () => {
    const stop = AbortSignal.abort(new Error('stop'))
    await expect(state({ list: stop.reason, signal: stop })).rejects.toThrow('stop')
  })
})
