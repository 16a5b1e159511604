import fc from 'fast-check'
import type { Logger } from 'pino'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makePacer } from '../../../src/core/service/pacer.ts'
import { makeSharedPace } from '../../../src/core/store/shared-pace.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { sleep } from '../../../src/kit/time.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openHold, openTestDatabase, queryOnce, WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { errorOf } from '../service/open-test-service.ts'
import { quiet } from './open.ts'

const database = openForAll(openTestDatabase)
beforeEach(async () => {
  await sql('delete from musette.callers')
  await sql('delete from musette.service_pauses')
  await sql(`select setval('musette.spent_until', 0)`)
})
const sql = (text: string) => queryOnce(database.url, text)

/** The shared pace as another process has it, on connections of its own. */
function openProcess(log?: Logger) {
  const store = openStore({ log: quiet }, { connectionString: database.url })
  onTestFinished(() => store.close())
  // A busy machine is not an outage, but where one is the point.
  return makeSharedPace({ store, log: log ?? quiet }, log ? undefined : 20_000)
}

type Wanted = Parameters<ReturnType<typeof openProcess>['reserve']>[0]

const want = (wanted: Partial<Wanted>): Wanted => ({
  ...{ count: 1, running: 0, demand: 1, concurrency: 4, requestsPerMinute: 240, calm: false },
  ...wanted,
})

/** A pacer of another process: `call` runs one call, and `starts` has the times of all, in ms. */
function openPacer(options: Partial<Parameters<typeof makePacer>[1]> = {}, log?: Logger) {
  const shared = openProcess(log)
  const limits = { concurrency: 4, requestsPerMinute: 6_000, ...options }
  const pacer = makePacer({ now: () => new Date(), sleep, shared }, limits)
  onTestFinished(() => pacer.close(new Error('the test is over')))
  const starts: number[] = []
  const call = (queue = '1', work = async () => {}) =>
    pacer.run({ queue, origin: 'https://service.test' }, async () => {
      starts.push(performance.now())
      await work()
    })
  return { pacer, call, starts }
}

/** The most of the times, in ms, that lie within one minute. */
const mostInOneMinute = (times: readonly number[]) =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length))

const DIES = `update musette.callers set until = now() - interval '1 s' where requests_per_minute = 60`

describe('requests that processes reserve', () => {
  it('keep one pace over all of them, and follow each other', async () => {
    const processes = [openProcess(), openProcess(), openProcess(), openProcess()]
    const given: { process: number; at: number }[] = []
    for (let isOver = false; !isOver; ) {
      for (const [process, { reserve }] of processes.entries()) {
        const { waitsMs } = await reserve(want({ count: 7, demand: 7, concurrency: 64 }))
        given.push(...waitsMs.map((ms) => ({ process, at: ms + performance.now() })))
        isOver = waitsMs.length === 0
      }
    }
    const times = given.map(({ at }) => at)
    expect(mostInOneMinute(times)).toBeLessThanOrEqual(240)
    expect(times.length).toBeGreaterThan(225)
    for (const process of processes.keys()) {
      const own = given.filter((each) => each.process === process).length
      expect(own).toBeGreaterThan(times.length / 4 - 10)
    }
  })

  it.each([
    ['as many as the lowest setting of all allows', '', { requestsPerMinute: 60 }, 61_000 / 55],
    ['the own setting again, when the other process is dead', DIES, { requestsPerMinute: 60 }, 61_000 / 231],
    ['no burst after a crash of Postgres', `select setval('musette.spent_until', 0)`, {}, 61_000 / 231],
  ])('are %s', async (_what, statement, other, everyMs) => {
    const [here, there] = [openProcess(), openProcess()]
    await here.reserve(want({ concurrency: 64 }))
    await there.reserve(want({ concurrency: 64, ...other }))
    if (statement) await sql(statement)
    const { waitsMs } = await here.reserve(want({ count: 14, demand: 14, concurrency: 64 }))
    const [first = 0, second = 0] = waitsMs.slice(-2)
    expect(second - first).toBeCloseTo(everyMs, 0)
  })

  it.each([
    [5, 1],
    [69, 6],
    [600, 10],
  ])('of %i a minute are %i at once: a tenth, and 1 to 10', async (requestsPerMinute, burst) => {
    const process = openProcess()
    await process.reserve(want({ requestsPerMinute }))
    await sql(`select setval('musette.spent_until', 1)`)
    const wanted = { count: 20, demand: 20, concurrency: 64, requestsPerMinute }
    const { waitsMs } = await process.reserve(want(wanted))
    expect(waitsMs.filter((ms) => ms === 0)).toHaveLength(burst)
  })

  it('leave one statement in the database that does not answer, and say so from the second try on', async () => {
    const log = makeTestLog()
    const store = await openForTest(openStore({ log: quiet }, { connectionString: database.url }))
    const { reserve } = makeSharedPace({ store, log: log.log }, 300)
    const hold = await openForTest(
      openHold(database.url, 'lock table musette.lock_pace in share update exclusive mode'),
    )
    for (const said of [0, 1, 1]) {
      expect(await errorOf(reserve(want({})))).toMatchObject({ code: 'database_slow' })
      expect(log.lines).toHaveLength(said)
    }
    expect(await sql(WAITING_FOR_LOCK)).toHaveLength(1)
    await hold.close()
    await expect.poll(() => reserve(want({})).catch(() => undefined)).toMatchObject({ callers: 1 })
  })

  it('wait no longer than a minute when the clock of the server is set back', async () => {
    const left = `select last_value / 1000000.0 - extract(epoch from clock_timestamp()) as s from musette.spent_until`
    await sql(`select setval('musette.spent_until', ((extract(epoch from now()) + 86400) * 1000000)::bigint)`)
    expect(await openProcess().reserve(want({}))).toMatchObject({ waitsMs: [] })
    expect(Number((await sql(left))[0]?.s)).toBeLessThan(63)
  })

  it('have the part of a process that died before the clock of the server was set back', async () => {
    const [dead, other] = [openProcess(), openProcess()]
    await dead.reserve(want({ demand: 4, count: 0 }))
    await sql(`update musette.callers set until = until + interval '1 hour'`)
    expect(await other.reserve(want({ demand: 4, count: 0 }))).toMatchObject({ allowed: 4, callers: 1 })
  })
})

describe('the concurrency', () => {
  /** What each process may have under way when all want that at the same time, each asking twice. */
  const shareOf = async (processes: ReturnType<typeof openProcess>[], demands: number[]) => {
    const allowed: number[] = []
    for (let round = 0; round < 2; round++)
      for (const [index, process] of processes.entries()) {
        const reserved = await process.reserve(want({ count: 0, demand: demands[index] ?? 0 }))
        allowed[index] = reserved.allowed ?? 0
      }
    return allowed
  }

  it.each([
    ['one alone has it all', [9], [4]],
    ['two have a half each', [4, 4], [2, 2]],
    ['what one does not need another has', [1, 9], [1, 3]],
    ['four have one each', [4, 4, 4, 4], [1, 1, 1, 1]],
  ])('is shared: %s', async (_what, demands, expected) => {
    const processes = demands.map(() => openProcess())
    expect(await shareOf(processes, demands)).toEqual(expected)
  })

  it('is never more than the setting, whatever the processes want and whichever die', async () => {
    const processes = Array.from({ length: 6 }, () => openProcess())
    const step = fc.record({ process: fc.nat(5), demand: fc.integer({ min: -1, max: 6 }), busy: fc.nat(6) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        await sql('delete from musette.callers')
        const allowed = new Map<number, number>()
        for (const { process, demand, busy } of steps) {
          const running = Math.min(busy, allowed.get(process) ?? 0)
          const reserved = await processes[process]?.reserve(
            want({ count: 0, running, demand: Math.max(demand, running) }),
          )
          allowed.set(process, Math.max(running, reserved?.allowed ?? 0))
          expect([...allowed.values()].reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(4)
        }
      }),
      { numRuns: 10 },
    )
  })
})

describe('pacers of several processes', () => {
  /** Calls one after the other from each queue until `count` calls of all pacers have begun. */
  const callUntil = async (
    count: number,
    pacers: { pacer: ReturnType<typeof openPacer>; queues: string[] }[],
  ) => {
    const all = () => pacers.reduce((sum, { pacer }) => sum + pacer.starts.length, 0)
    const begun = performance.now()
    const keepCalling = async (pacer: ReturnType<typeof openPacer>, queue: string) => {
      while (all() < count) await pacer.call(queue)
    }
    await Promise.all(pacers.flatMap(({ pacer, queues }) => queues.map((queue) => keepCalling(pacer, queue))))
    return performance.now() - begun
  }

  it('share the pace evenly between accounts, beside a backfill of many calls at once', async () => {
    const limits = { requestsPerMinute: 3_000 }
    const [long, short] = [openPacer(limits), openPacer(limits)]
    const queues = ['b', 'c', 'd']
    const tookMs = await callUntil(120, [
      { pacer: long, queues: ['a', 'a', 'a', 'a'] },
      { pacer: short, queues },
    ])
    // 10 at once, the others every 20 ms.
    expect(tookMs).toBeGreaterThan(2_000)
    expect(long.starts.length).toBeGreaterThan(10)
    expect(short.starts.length).toBeGreaterThan(25)
  })

  it('all wait after a rate limit that one of them has met, before their next call', async () => {
    const [here, there] = [openPacer({ longestPauseMs: 5_000 }), openPacer({ longestPauseMs: 5_000 })]
    await Promise.all([here.call(), there.call()])
    here.pacer.pause('https://service.test', 3_600_000)
    await expect.poll(() => sql('select from musette.service_pauses')).toHaveLength(1)
    expect(await errorOf(there.call())).toMatchObject({ code: 'rate_limited' })
    expect(there.starts).toHaveLength(1)
  })

  it('go on at their last part of the pace while the database does not answer, say so once, and share it again', async () => {
    const log = makeTestLog()
    const [here, there] = [openPacer({}, log.log), openPacer()]
    // Until each has shared with the other.
    await callUntil(200, [
      { pacer: here, queues: ['1'] },
      { pacer: there, queues: ['1'] },
    ])
    // Also when both have given their share back meanwhile.
    await expect.poll(() => sql('select from musette.callers'), { timeout: 20_000 }).toEqual([])
    const hold = await openForTest(
      openHold(database.url, 'lock table musette.lock_pace in share update exclusive mode'),
    )
    const [before, said] = [here.starts.length, log.lines.length]
    await callUntil(before + 60, [{ pacer: here, queues: ['1', '2'] }])
    const [first = 0, last = 0] = [here.starts[before + 5], here.starts.at(-1)]
    expect((last - first) / 54).toBeGreaterThan(61_000 / 3_000 - 2)
    await hold.close()
    const levels = () => log.lines.slice(said).map(({ level }) => level)
    await expect.poll(() => levels().at(-1), { timeout: 10_000 }).toBe('info')
    expect(levels().filter((level) => level === 'warn').length).toBeLessThanOrEqual(1)
    await here.call()
  })

  it('give their share back when they close', async () => {
    const { pacer, call } = openPacer()
    let end = () => {}
    const running = call('1', () => new Promise<void>((resolve) => (end = resolve)))
    await expect.poll(() => sql('select from musette.callers'), { timeout: 20_000 }).toHaveLength(1)
    end()
    await running
    await pacer.close(new Error('the end'))
    expect(await sql('select from musette.callers')).toEqual([])
  })
})
