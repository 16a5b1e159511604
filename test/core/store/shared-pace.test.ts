import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makePacer } from '../../../src/core/service/pacer.ts'
import { makeSharedPace } from '../../../src/core/store/shared-pace.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { sleep } from '../../../src/kit/time.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { errorOf } from '../service/open-test-service.ts'
import { quiet } from './open.ts'

const database = openForAll(openTestDatabase)
beforeEach(async () => {
  await sql('delete from musette.service_pauses')
  await sql(`select setval('musette.spent_until', 1)`)
})
const sql = (text: string) => queryOnce(database.url, text)

const ORIGIN = 'https://service.test'

/** The shared pace as another process has it, on connections of its own. */
function openProcess(url = database.url) {
  const store = openStore({ log: quiet }, { connectionString: url })
  onTestFinished(() => store.close())
  return makeSharedPace(store)
}

/** A pacer of another process: `call` runs one call, and `starts` has the times of all, in ms. */
function openPacer(options: Partial<Parameters<typeof makePacer>[1]> = {}) {
  const limits = { concurrency: 4, requestsPerMinute: 6_000, ...options }
  const deps = { now: () => new Date(), sleep, shared: openProcess() }
  const pacer = makePacer(deps, limits)
  onTestFinished(() => pacer.close(new Error('the test is over')))
  const starts: number[] = []
  const call = (queue = '1') =>
    pacer.run({ queue, origin: ORIGIN }, async () => void starts.push(performance.now()))
  return { pacer, call, starts }
}

/** Takes calls until one has to wait; returns how many were granted, and the wait in ms. */
async function takeAll({ take }: ReturnType<typeof openProcess>, requestsPerMinute: number) {
  for (let granted = 0; ; granted += 1) {
    const { waitMs } = await take(requestsPerMinute)
    if (waitMs > 0) return { granted, waitMs }
  }
}

describe('calls that processes take', () => {
  it.each([
    [5, 1],
    [30, 3],
    [600, 10],
  ])('of %i a minute start %i at once: a tenth, and 1 to 10', async (requestsPerMinute, burst) => {
    const { granted, waitMs } = await takeAll(openProcess(), requestsPerMinute)
    expect(granted).toBeGreaterThanOrEqual(burst)
    expect(granted).toBeLessThan(burst + 10) // a slow machine earns calls meanwhile
    expect(waitMs).toBeLessThanOrEqual(61_000 / (requestsPerMinute - burst + 1) + 1)
  })

  it('start without a burst after a crash of Postgres', async () => {
    await sql(`select setval('musette.spent_until', 0)`)
    expect((await takeAll(openProcess(), 5)).granted).toBe(1)
    await sql(`select setval('musette.spent_until', 0)`)
    expect((await takeAll(openProcess(), 60)).granted).toBeLessThan(3)
  })

  it('wait one interval when the clock of the server is set back', async () => {
    await sql(`select setval('musette.spent_until', ((extract(epoch from now()) + 86400) * 1000000)::bigint)`)
    const process = openProcess()
    const { waitMs } = await process.take(600)
    expect(waitMs).toBeLessThan(200)
    await expect.poll(async () => (await process.take(600)).waitMs).toBe(0)
  })

  it('keep one pace over all processes in any time', async () => {
    const limits = { requestsPerMinute: 3_000 }
    const pacers = [openPacer(limits), openPacer(limits), openPacer(limits)]
    const all = () => pacers.flatMap(({ starts }) => starts).toSorted((a, b) => a - b)
    const keepCalling = async ({ call }: ReturnType<typeof openPacer>, queue: string) => {
      while (all().length < 120) await call(queue)
    }
    await Promise.all(pacers.flatMap((pacer) => ['a', 'b'].map((queue) => keepCalling(pacer, queue))))
    // 10 at once, the others one after the other; a call starts up to 1 s after its grant.
    const everyMs = 61_000 / 2_991
    const times = all()
    const spans = times.flatMap((from, index) =>
      times.slice(index + 11).map((to, more) => to - from - (more + 1) * everyMs),
    )
    expect(Math.min(...spans)).toBeGreaterThan(-1_000)
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(100 * everyMs)
    for (const { starts } of pacers) expect(starts.length).toBeGreaterThan(10)
  })
})

describe('pacers of several processes', () => {
  it('all wait after a rate limit that one of them has met, before their next call', async () => {
    const [here, there] = [openPacer({ longestPauseMs: 5_000 }), openPacer({ longestPauseMs: 5_000 })]
    await Promise.all([here.call(), there.call()])
    here.pacer.pause(ORIGIN, 3_600_000)
    await expect.poll(() => sql('select from musette.service_pauses')).toHaveLength(1)
    expect(await errorOf(there.call())).toMatchObject({ code: 'rate_limited' })
    expect(there.starts).toHaveLength(1)
  })

  it('start no call while the database cannot be reached, and say why', async () => {
    const unreachable = openProcess('postgresql://nobody@127.0.0.1:1/none')
    const pacer = makePacer(
      { now: () => new Date(), sleep, shared: unreachable },
      { concurrency: 4, requestsPerMinute: 240 },
    )
    const work = () => Promise.reject(new Error('the call was sent'))
    const calls = ['1', '2'].map((queue) => pacer.run({ queue, origin: ORIGIN }, work))
    for (const call of calls)
      expect(await errorOf(call)).toMatchObject({ name: 'TransientError', code: 'database_unreachable' })
  })
})
