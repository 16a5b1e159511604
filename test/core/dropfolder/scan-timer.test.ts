import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeScanTimer } from '../../../src/core/dropfolder/watch.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Makes a timer whose scans take no time; `times` has the time at which each began, ms. */
function openTimer() {
  const begin = performance.now()
  const times: number[] = []
  const scan = async () => void times.push(Math.round(performance.now() - begin))
  return { timer: makeScanTimer({ scan, everyMs: () => 60_000 }), times }
}

/** A walk that takes a second and finds work for this many files. */
const walkOf = (found: number) => async () => {
  vi.advanceTimersByTime(1_000)
  return found
}

describe('the scan timer', () => {
  it('answers a burst of hints with one scan after 100 ms', () => {
    const { timer, times } = openTimer()
    timer.scanIn(5_000)
    timer.scanSoon()
    vi.advanceTimersByTime(99)
    timer.scanSoon()
    timer.scanIn(2_000)
    vi.advanceTimersByTime(10_000)
    expect(times).toEqual([100])
    timer.scanIn(0)
    vi.advanceTimersByTime(0)
    expect(times).toEqual([100, 10_099])
  })

  it('scans at most a minute after a walk', async () => {
    const { timer, times } = openTimer()
    timer.scanIn(3_600_000)
    vi.advanceTimersByTime(60_000)
    expect(times).toEqual([60_000])
    expect(await timer.timeWalk(walkOf(7))).toBe(7)
    vi.advanceTimersByTime(200_000)
    expect(times).toEqual([60_000, 121_000])
  })

  it('pauses longer after each walk without work, up to 20 times its duration', async () => {
    const { timer, times } = openTimer()
    for (let walks = 1; walks <= 22; walks++) {
      await timer.timeWalk(walkOf(0))
      const end = walks * 1_000 + times.reduce((sum, _, index) => sum + Math.min(20, index + 1) * 1_000, 0)
      timer.scanSoon()
      vi.advanceTimersByTime(Math.min(20, walks) * 1_000)
      expect(times.at(-1)).toBe(end + Math.min(20, walks) * 1_000)
    }
    await timer.timeWalk(walkOf(1))
    timer.scanSoon()
    vi.advanceTimersByTime(100)
    expect(times).toHaveLength(23)
    await timer.timeWalk(walkOf(0))
    timer.scanSoon()
    vi.advanceTimersByTime(1_000)
    expect(times).toHaveLength(24)
  })
})
