import { afterAll, beforeAll, expect, it } from 'vitest'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { findAccounts } from '../../../src/core/store/account-rows.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/kit/time.ts'
import { makeTestLog } from '../../kit/log.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { makeAccount, openTestStore, rowsOf } from '../store/open.ts'

const OPTIONS = { historyStart: new Date('2026-01-01T00:00:00Z'), lagMs: HOUR, keepRaw: false }
const START = new Date('2026-05-03T08:00:00Z')
const later = (ms: number) => new Date(START.getTime() + ms)

let opened: Awaited<ReturnType<typeof openTestStore>>
const ends: Array<() => Promise<void>> = []
beforeAll(async () => {
  opened = await openTestStore((end) => ends.push(end))
})
afterAll(async () => {
  for (const end of ends) await end()
})

const FAR = later(100 * DAY)

/**
 * Makes a mirror of a service with its own clock, which lists `paths` if `updated` is in the requested span; `poll` returns the requested
 * starts of changes.
 */
async function open() {
  const { store, url } = opened
  await queryOnce(url, 'truncate training.accounts cascade')
  const { log, lines } = makeTestLog()
  await makeAccount(store)
  const [account] = await store.read(findAccounts)
  if (!account) throw new Error('an account was made')
  const at = { ours: START, service: START as Date | undefined, paths: [] as string[], updated: FAR }
  const queries: Array<Date | undefined> = []
  const listActivities = async ({ updatedFrom }: { updatedFrom?: Date }) => {
    queries.push(updatedFrom)
    const names = { name: 'Ride', description: null, activityType: null }
    const isListed = updatedFrom === undefined || updatedFrom <= at.updated
    const entries = isListed ? at.paths.map((path) => ({ path, ...names })) : []
    return { requestedAt: at.ours, serviceTime: at.service, value: { entries, bad: [], drift: [] } }
  }
  const deps = {
    store,
    log,
    serviceOf: () => ({ listActivities }),
    now: () => at.ours,
    options: OPTIONS,
  } as unknown as MirrorDeps
  const poll = async () => {
    queries.length = 0
    const result = await pollActivities(deps, { account })
    return { ...result, queries: [...queries] }
  }
  const cursor = async () =>
    (await rowsOf(store, 'select updated_from from training.sync_cursors'))[0]?.updated_from
  const changes = async () =>
    (await rowsOf(store, 'select changed from training.sync_runs order by run_id')).map(
      ({ changed }) => changed,
    )
  return { at, url, lines, poll, cursor, changes }
}

it('a poll lists changes since the last poll minus an hour, then which are new', async () => {
  const { at, poll, cursor, lines, changes } = await open()
  expect(new Set((await poll()).queries)).toEqual(new Set([undefined]))
  expect(await cursor()).toEqual(START)
  Object.assign(at, { ours: later(MINUTE), service: later(MINUTE + SECOND) })
  expect(await poll()).toMatchObject({ listed: 0, queries: [later(-HOUR)] })
  expect(await cursor()).toEqual(later(MINUTE))
  at.paths = ['p1']
  const { queries, ...counts } = await poll()
  expect(counts).toEqual({ listed: 1, inserted: 1, marked: 0, bad: 0 })
  expect(queries).toEqual([later(MINUTE - HOUR), later(MINUTE - SECOND)])
  expect(await changes()).toEqual([0, 0, 1])
  expect(lines.filter(({ level }) => level === 'warn')).toEqual([])
})

it('without a Date header the next poll starts a day earlier, with a warning', async () => {
  const { at, poll, cursor, lines } = await open()
  at.service = undefined
  await poll()
  expect(await cursor()).toEqual(later(-DAY))
  expect(lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual([
    'the service sends no Date header; using the clock of this machine',
  ])
  expect((await poll()).queries).toEqual([later(-DAY - HOUR)])
})

it.each([
  ['half an hour', -29 * MINUTE, 0, false],
  ['more', -31 * MINUTE, 0, true],
  ['less than the time since the last poll', 60 * MINUTE, 89 * MINUTE, false],
  ['more than the time since the last poll', 60 * MINUTE, 91 * MINUTE, true],
])(
  'if the service’s clock is set back by %s, the whole list is requested: %s',
  async (_, moved, since, isWhole) => {
    const { at, url, poll, lines } = await open()
    await poll()
    await queryOnce(
      url,
      `update training.sync_cursors set advanced_at = advanced_at - $1 * interval '1 ms' returning 1`,
      [since],
    )
    Object.assign(at, { ours: later(moved), service: later(moved) })
    expect((await poll()).queries).toEqual(isWhole ? [later(-HOUR), undefined] : [later(-HOUR)])
    expect(lines.some(({ msg }) => msg?.includes('clock went back'))).toBe(isWhole)
  },
)

const [AHEAD, BEHIND] = [4 * HOUR, -4 * HOUR]
it.each([
  ['shows the time of its updates', 0, 0, 0],
  ['is 4 h ahead', AHEAD, 0, 0],
  ['is 20 h ahead', 5 * AHEAD, 0, 0],
  ['is 4 h behind', BEHIND, 0, 0],
  ['is 4 h ahead and our clock 8 h behind', AHEAD, 0, 2 * BEHIND],
  ['is right and our clock 4 h ahead', 0, 0, AHEAD],
  ['is right and our clock 4 h behind', 0, 0, BEHIND],
  ['is 4 h ahead with the whole service', AHEAD, AHEAD, 0],
  ['is right and our clock shows 2016', 0, 0, -3650 * DAY],
])('the next poll lists a new ride if the Date header %s', async (_, dateMs, updatesMs, oursMs) => {
  const { at, poll, cursor } = await open()
  const turn = (ms: number) => Object.assign(at, { ours: later(ms + oursMs), service: later(ms + dateMs) })
  for (const minutes of [0, 15, 30]) {
    turn(minutes * MINUTE)
    await poll()
  }
  // A wrong clock costs only that a day of changes is listed again.
  expect(Number(await cursor())).toBeGreaterThanOrEqual(Number(later(30 * MINUTE + dateMs - DAY)))
  Object.assign(at, { paths: ['ride'], updated: later(40 * MINUTE + updatesMs) })
  turn(45 * MINUTE)
  const { listed, inserted, queries } = await poll()
  expect([listed, inserted]).toEqual([1, 1])
  // The second list has the changes since the last poll by the Date header's clock.
  expect(queries[1]).toEqual(later(30 * MINUTE + dateMs - 2 * SECOND))
})
