import { describe, expect, it } from 'vitest'
import { MAX_TEXT_BYTES } from '../../../src/kit/json.ts'
import { errorOf, openTestService } from './open-test-service.ts'

const HISTORY = { from: new Date(0), to: new Date('2100-01-01T00:00:00Z') }
const DAY_S = 86_400
const NEWEST_S = Date.parse('2024-05-05T05:05:05Z') / 1000
const NINE_MB = 9_000_000

/** A ride in the list; `bytes` is the size of its entry, by default ENTRY_BYTES. */
type Ride = { path: string; at: number; bytes?: number }
const ENTRY_BYTES = 300

/** Opens the client of a service that lists these rides, with starts in seconds. `includesEnd`: also lists a ride that starts at `to`. */
function serve(rides: readonly Ride[], { includesEnd = true } = {}) {
  const { account, requests } = openTestService(({ path }) => {
    const { searchParams } = new URL(path, 'http://a')
    const [from, to] = ['from', 'to'].map((name) => Number(searchParams.get(name))) as [number, number]
    const listed = rides.filter(({ at }) => at >= from && (at < to || (includesEnd && at === to)))
    const bytes = listed.reduce((sum, ride) => sum + (ride.bytes ?? ENTRY_BYTES), 0)
    // The client reads only the length of a response with this header.
    if (bytes > MAX_TEXT_BYTES) return { headers: { 'content-length': String(bytes) } }
    return { body: { success: true, activities: listed.map(({ path }) => ({ path })) } }
  })
  const list = async (unlisted?: Array<{ from: Date; to: Date }>) => {
    const { value } = await account.listActivities({ ...HISTORY, ...(unlisted && { unlisted }) })
    return { paths: [...new Set(value.entries.map(({ path }) => path))].toSorted(), bad: value.bad }
  }
  return { list, requests }
}

const daily = (count: number): Ride[] =>
  Array.from({ length: count }, (_, index) => ({
    path: `ride${String(index).padStart(6, '0')}`,
    at: NEWEST_S - index * Math.floor((20 * 365 * DAY_S) / count),
  }))
const pathsOf = (rides: readonly Ride[]) => rides.map(({ path }) => path).toSorted()

describe('a list of more than 16 MB', () => {
  it.each<[string, Ride[], number]>([
    ['100,000 rides', daily(100_000), 20],
    [
      'two descriptions of 9 MB, a day apart',
      daily(3).map((ride, index) => ({ ...ride, ...(index < 2 && { bytes: NINE_MB }) })),
      40,
    ],
    [
      'two descriptions of 9 MB, a second apart',
      [NEWEST_S, NEWEST_S + 2].map((at) => ({ path: `at${at}`, at, bytes: NINE_MB })),
      80,
    ],
  ])('is fetched whole in parts: %s', async (_, rides, most) => {
    const { list, requests } = serve(rides)
    expect(await list()).toEqual({ paths: pathsOf(rides), bad: [] })
    expect(requests.length).toBeLessThan(most)
  })

  it.each([true, false])(
    'names a single ride over 16 MB and does not request it again (ends listed: %s)',
    async (includesEnd) => {
      const rides = daily(4)
      const large = { path: 'large', at: NEWEST_S - 7, bytes: 17_000_000 }
      const { list, requests } = serve([...rides, large], { includesEnd })
      const unlisted: Array<{ from: Date; to: Date }> = []
      const { paths, bad } = await list(unlisted)
      expect(paths).toEqual(pathsOf(rides))
      expect(bad).toEqual([
        {
          index: 0,
          named: `start from ${includesEnd ? '2024-05-05T05:04:57Z to 2024-05-05T05:04:59Z' : '2024-05-05T05:04:58Z to 2024-05-05T05:04:59Z'}`,
          reason: 'the list of these seconds is larger than 16 MB',
        },
      ])
      expect(requests.length).toBeLessThan(80)
      const before = requests.length
      expect(await list(unlisted)).toEqual({ paths, bad })
      expect(requests.length - before).toBe(2)
      expect(await errorOf(list())).toMatchObject({ code: 'too_large' })
    },
  )
})
