import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makePacer, type OnPause } from '../../../src/core/service/pacer.ts'
import { errorOf } from './open-test-service.ts'

/** Makes a clock that only `runUntil` advances, and that wakes sleepers on the way. */
function makeAgenda() {
  let time = 1_000_000_000
  let agenda: Array<{ at: number; wake: () => void }> = []
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  }
  return {
    now: () => new Date(time),
    time: () => time,
    waiting: () => agenda.length,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const entry = { at: time + ms, wake: resolve }
        agenda.push(entry)
        signal?.addEventListener('abort', () => {
          agenda = agenda.filter((one) => one !== entry)
          reject(signal.reason)
        })
      }),
    settle,
    async runUntil(end: number): Promise<void> {
      await settle()
      for (;;) {
        const next = agenda.filter((one) => one.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        agenda = agenda.filter((one) => one !== next)
        time = Math.max(time, next.at)
        next.wake()
        await settle()
      }
      time = Math.max(time, end)
    },
    jump(ms: number) {
      time += ms
    },
  }
}

const ORIGIN = 'https://service.test'

/** Opens a pacer on this clock, and calls of a queue; `starts` has the time of each. */
function openPacer(options: Partial<Parameters<typeof makePacer>[1]> = {}, onPause?: OnPause) {
  const agenda = makeAgenda()
  const pacer = makePacer(
    { ...agenda, onPause },
    { concurrency: 1, requestsPerMinute: 60_000_000, ...options },
  )
  const callsOf = (queue = '1', origin = ORIGIN) => {
    const starts: number[] = []
    const work = async (workMs: number) => {
      starts.push(agenda.time())
      if (workMs > 0) await agenda.sleep(workMs)
    }
    const ask = (workMs = 0, signal?: AbortSignal) => pacer.run({ queue, origin }, () => work(workMs), signal)
    return { starts, ask }
  }
  return { agenda, pacer, begin: agenda.time(), callsOf, ...callsOf() }
}

describe('the pacer', () => {
  it.each([1, 5, 60, 600])('spreads %i requests a minute evenly', async (requestsPerMinute) => {
    const { agenda, ask, starts, begin } = openPacer({ concurrency: 100, requestsPerMinute })
    for (let index = 0; index < 10; index += 1) void ask()
    await agenda.runUntil(begin + 10 * 60_000)
    const everyMs = 61_000 / requestsPerMinute
    for (const [index, at] of starts.entries())
      expect(Math.abs(at - begin - index * everyMs)).toBeLessThanOrEqual(1)
    expect(starts.length).toBe(Math.min(10, Math.ceil((10 * 60_000) / everyMs)))
  })

  it('never exceeds the concurrency, or the rate in any 60 seconds', async () => {
    const plan = fc.record({
      concurrency: fc.integer({ min: 1, max: 5 }),
      requestsPerMinute: fc.integer({ min: 1, max: 60 }),
      arrivals: fc.array(
        fc.record({
          after: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 30_000 })),
          work: fc.integer({ min: 0, max: 2_000 }),
        }),
        { minLength: 1, maxLength: 150, size: 'max' },
      ),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ concurrency, requestsPerMinute, arrivals }) => {
        const { agenda, pacer } = openPacer({ concurrency, requestsPerMinute })
        const starts: number[] = []
        let running = 0
        let most = 0
        const jobs: Promise<void>[] = []
        for (const { after, work } of arrivals) {
          await agenda.runUntil(agenda.time() + after)
          const job = pacer.run({ queue: '1', origin: ORIGIN }, async () => {
            starts.push(agenda.time())
            running += 1
            most = Math.max(most, running)
            await agenda.sleep(work)
            running -= 1
          })
          jobs.push(job)
        }
        await agenda.runUntil(agenda.time() + 4 * 60 * 60_000)
        await Promise.all(jobs)
        const inOneMinute = starts.map(
          (start) => starts.filter((at) => at >= start && at < start + 60_000).length,
        )
        expect(Math.max(...inOneMinute)).toBeLessThanOrEqual(requestsPerMinute)
        expect(most).toBeLessThanOrEqual(concurrency)
        expect(starts).toHaveLength(arrivals.length)
      }),
      { numRuns: 60 },
    )
  })

  it('serves accounts in rotation, so a long queue does not delay a short one', async () => {
    const { agenda, pacer } = openPacer()
    const order: string[] = []
    const ask = (queue: string, name: string) =>
      pacer.run({ queue, origin: ORIGIN }, async () => {
        order.push(name)
        await agenda.sleep(10)
      })
    for (const name of ['a1', 'a2', 'a3', 'a4']) void ask('a', name)
    for (const name of ['b1', 'b2']) void ask('b', name)
    void ask('c', 'c1')
    await agenda.runUntil(agenda.time() + 1_000)
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  })

  it('rejects calls to an origin with a long pause, and runs other calls', async () => {
    const { agenda, pacer, begin, callsOf } = openPacer({ longestPauseMs: 5_000 })
    const [here, there] = [callsOf('1'), callsOf('2', 'https://other.test')]
    void here.ask(1_000)
    const waiting = errorOf(here.ask())
    await agenda.settle()
    pacer.pause(ORIGIN, 3_600_000)
    const limited = { name: 'RateLimitedError', code: 'rate_limited', retryAfterMs: 3_600_000 }
    expect(await waiting).toMatchObject(limited)
    expect(await errorOf(here.ask())).toMatchObject(limited)
    void there.ask()
    await agenda.runUntil(begin + 3_600_000)
    expect([here.starts, there.starts]).toEqual([[begin], [begin + 1_000]])
    await here.ask()
    pacer.pause(ORIGIN, 5_000)
    void here.ask()
    await agenda.runUntil(agenda.time() + 5_000)
    expect(here.starts).toHaveLength(3)
  })

  it('ends a pause on time if the clock is set back', async () => {
    const { agenda, pacer, ask, starts } = openPacer({ requestsPerMinute: 60 })
    pacer.pause(ORIGIN, 30_000)
    agenda.jump(-3_600_000)
    expect(pacer.pausedMs(ORIGIN)).toBe(0)
    await ask()
    agenda.jump(-3_600_000)
    void ask()
    await agenda.runUntil(agenda.time() + 10_000)
    expect(starts).toHaveLength(2)
  })

  it('removes a waiting call if its signal aborts, and leaves no timer', async () => {
    const { agenda, pacer, ask, starts } = openPacer({ requestsPerMinute: 60 })
    pacer.pause(ORIGIN, 60_000)
    const stop = new AbortController()
    const waiting = errorOf(ask(0, stop.signal))
    await agenda.settle()
    expect(agenda.waiting()).toBe(1)
    stop.abort()
    expect(await waiting).toBe(stop.signal.reason)
    expect(agenda.waiting()).toBe(0)
    await agenda.runUntil(agenda.time() + 120_000)
    expect(starts).toEqual([])
  })

  it('rejects waiting and later calls once it is closed', async () => {
    const { agenda, pacer, ask } = openPacer({ requestsPerMinute: 60 })
    pacer.pause(ORIGIN, 60_000)
    const waiting = errorOf(ask())
    const reason = new Error('closed')
    void pacer.close(reason)
    expect(await waiting).toBe(reason)
    expect(await errorOf(ask())).toBe(reason)
    expect(agenda.waiting()).toBe(0)
  })
})
