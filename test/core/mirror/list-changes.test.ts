import { describe, expect, it } from 'vitest'
import { listChanges, listEverything } from '../../../src/core/mirror/list-activities.ts'
import type { MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { historyWindow } from '../../../src/core/mirror/poll-activities.ts'
import type { Window } from '../../../src/core/service/list-in-parts.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { SECOND } from '../../../src/kit/time.ts'

const NOW = new Date('2026-05-03T08:00:00Z')
const HISTORY: Window = { from: new Date('2026-01-01T00:00:00Z'), to: NOW }
const account = { accountId: 1, name: 'default' } as Account

type Entry = { path: string; at: string | null }
type Query = { from: Date; to: Date; updatedFrom?: Date }
type Service = {
  activities: Entry[]
  /** the service sends only this many entries, the newest */
  cap?: number
  bad?: ReadonlyArray<{ index: number; reason: string }>
  /** called before each answer, with the number of requests so far */
  before?: (requests: number) => void
  serviceTime?: Date | undefined
  requestedAt?: Date
}

/** Makes a mirror's service that lists what `of` has; `queries` collects the requests. */
function serve(of: Service) {
  const queries: Query[] = []
  const listActivities = async (query: Query) => {
    queries.push(query)
    of.before?.(queries.length)
    const within = of.activities.filter(({ at }) => {
      const moment = at === null ? Number.NaN : Date.parse(at)
      return Number.isNaN(moment) || (moment >= query.from.getTime() && moment <= query.to.getTime())
    })
    const newest = within.toSorted((a, b) => String(b.at).localeCompare(String(a.at)))
    const entries = newest.slice(0, of.cap ?? newest.length).map(({ path, at }) => ({
      path,
      ...{ name: path, description: null, activityType: null },
      ...(at && { date: at.slice(0, 19).replace('T', ' '), timezoneType: 3, timezone: 'UTC' }),
    }))
    return {
      ...{ requestedAt: of.requestedAt ?? NOW, serviceTime: 'serviceTime' in of ? of.serviceTime : NOW },
      value: { entries, bad: of.bad ?? [], drift: [{ field: 'x', kind: 'unknown', example: '1' }] },
    }
  }
  const deps = { serviceOf: () => ({ listActivities }), now: () => NOW } as unknown as MirrorDeps
  return { deps, queries }
}

const days = (count: number, from = 1): Entry[] =>
  Array.from({ length: count }, (_, index) => {
    const day = new Date(Date.UTC(2026, 0, from + index, 6)).toISOString()
    return { path: `p${from + index}`, at: day }
  })
const pathsOf = ({ entries }: { entries: ReadonlyArray<{ path: string }> }) =>
  entries.map(({ path }) => path).toSorted()
const query = { account, window: HISTORY, updatedFrom: new Date('2026-02-01T00:00:00Z') }

describe('the list of changes', () => {
  it.each([
    ['none', [], null, 1],
    ['one', days(1), null, 1],
    ['two', days(2), null, 3],
    ['one, which reaches the known cap,', days(1), 1, 1 + 2],
    ['five, below the known cap,', days(5), 6, 3],
  ])('with %s is complete', async (_, activities, cap, requests) => {
    const { deps, queries } = serve({ activities })
    const listing = await listChanges(deps, query, cap)
    expect(pathsOf(listing)).toEqual(activities.map(({ path }) => path).toSorted())
    expect(queries).toHaveLength(requests)
    expect(queries.every(({ updatedFrom }) => updatedFrom === query.updatedFrom)).toBe(true)
    expect(listing).toMatchObject({ requestedAt: NOW, knownUpTo: NOW, cap: cap === 1 ? 1 : null })
  })

  it.each([2, 3, 7])(
    'is complete from a service that sends at most %i entries, and has that cap',
    async (cap) => {
      const activities = days(20)
      const listing = await listChanges(serve({ activities, cap }).deps, query, null)
      expect(pathsOf(listing)).toEqual(activities.map(({ path }) => path).toSorted())
      expect(listing).toMatchObject({ cap, cut: [] })
      const { deps, queries } = serve({ activities, cap })
      expect(pathsOf(await listChanges(deps, query, cap))).toEqual(pathsOf(listing))
      // A known cap is not determined again.
      expect(queries.filter(({ from, to }) => from === HISTORY.from && to === HISTORY.to)).toHaveLength(1)
    },
  )

  it('does not count as cut if an activity was created after the wide list', async () => {
    const activities = days(3)
    const before = (requests: number) => {
      if (requests === 2) activities.push({ path: 'new', at: '2026-04-01T06:00:00.000Z' })
    }
    const { deps, queries } = serve({ activities, before })
    expect(await listChanges(deps, query, null)).toMatchObject({ cap: null, cut: [] })
    expect(queries).toHaveLength(4)
  })

  it('names a second with more starts than the service sends', async () => {
    const at = '2026-03-01T06:00:00.000Z'
    const crowd = [...days(4), ...['a', 'b', 'c'].map((path) => ({ path, at }))]
    const { cap, cut, entries } = await listChanges(serve({ activities: crowd, cap: 2 }).deps, query, null)
    expect(cap).toBe(2)
    expect(cut.length).toBeGreaterThan(0)
    for (const { from, to } of cut) expect(to.getTime() - from.getTime()).toBeLessThan(2 * SECOND)
    expect(entries.length).toBeGreaterThanOrEqual(6)
  })

  it('counts unreadable entries in a list’s length, and reports them', async () => {
    const bad = [{ index: 0, reason: 'no path' }]
    const one = serve({ activities: days(1), bad })
    expect((await listChanges(one.deps, query, null)).bad).toEqual(bad)
    // Two entries are compared with the halves.
    expect(one.queries).toHaveLength(3)
  })

  it('reports drift and unreadable starts', async () => {
    const activities = [
      { path: 'none', at: null },
      { path: 'odd', at: '2026-03-99T06:00:00' },
    ]
    const { drift, entries } = await listChanges(serve({ activities }).deps, query, null)
    expect(entries.map(({ startedAt }) => startedAt)).toEqual([null, null])
    expect(drift.map(({ field }) => field)).toEqual(['x', 'activities[].start_date'])
  })

  it('is known up to the response’s time minus the request’s duration', async () => {
    const at = (serviceTime: Date | undefined, requestedAt: Date) =>
      listChanges(serve({ activities: [], serviceTime, requestedAt }).deps, query, null)
    const sooner = new Date(NOW.getTime() - 3 * SECOND)
    expect((await at(NOW, sooner)).knownUpTo).toEqual(sooner)
    expect((await at(NOW, new Date(NOW.getTime() + SECOND))).knownUpTo).toEqual(NOW)
    expect((await at(undefined, NOW)).knownUpTo).toBeUndefined()
  })
})

describe('the whole history', () => {
  it('is complete even if the service cuts it', async () => {
    const activities = [...days(9), { path: 'old', at: '2024-01-03T06:00:00.000Z' }]
    const window = { from: new Date('2023-01-01T00:00:00Z'), to: NOW }
    const listing = await listEverything(serve({ activities, cap: 2 }).deps, { account, window })
    expect(pathsOf(listing)).toEqual(activities.map(({ path }) => path).toSorted())
    expect(listing).toMatchObject({ cap: 2, cut: [] })
  })

  it.each([
    ['2000 and later', [], 3 + 1 + 27],
    ['1995 and later', [{ path: 'old', at: '1995-07-07T06:00:00.000Z' }], 3 + 1 + 31],
  ])('from 1970 on is compared with its yearly lists from %s', async (_, older, requests) => {
    const activities = [...days(2), ...older]
    const { deps, queries } = serve({ activities })
    const window = { from: new Date(0), to: NOW }
    expect(pathsOf(await listEverything(deps, { account, window }))).toHaveLength(activities.length)
    expect(queries).toHaveLength(requests)
    const cut = await listEverything(serve({ activities, cap: 2 }).deps, { account, window })
    expect(pathsOf(cut)).toHaveLength(activities.length)
  })

  it('extends far into the future without more requests', async () => {
    const activities = [...days(2), { path: 'ahead', at: '2099-05-05T05:00:00.000Z' }]
    const { deps, queries } = serve({ activities })
    const options = { historyStart: HISTORY.from, lagMs: 0, keepRaw: false }
    const window = historyWindow({ ...deps, options })
    expect(window.from).toEqual(HISTORY.from)
    expect(pathsOf(await listEverything(deps, { account, window }))).toContain('ahead')
    expect(queries).toHaveLength(4)
  })
})
