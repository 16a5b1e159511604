import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitByYears, splitInHalves } from '../../../src/core/mirror/list-activities.ts'
import type { Window } from '../../../src/core/service/list-in-parts.ts'

const moment = (seconds: number) => new Date(seconds * 1_000)
const seconds = fc.integer({ min: 0, max: 2_000_000_000 })
const windows: fc.Arbitrary<Window> = fc
  .tuple(seconds, seconds)
  .map(([a, b]) => ({ from: moment(Math.min(a, b)), to: moment(Math.max(a, b)) }))

describe('the parts of a window', () => {
  it('by years cover every second, share boundaries and, until now, last at most a year', () => {
    fc.assert(
      fc.property(windows, seconds.map(moment), (window, now) => {
        const parts = splitByYears(window, now)
        if (window.from < window.to) {
          expect(parts.at(0)?.from).toEqual(window.from)
          expect(parts.at(-1)?.to).toEqual(window.to)
        }
        for (const [index, part] of parts.entries()) {
          if (index > 0) expect(part.from).toEqual(parts[index - 1]?.to)
          const end =
            part === parts.at(-1)
              ? Math.min(part.to.getTime(), Math.max(part.from.getTime(), now.getTime()))
              : part.to.getTime()
          expect(end - part.from.getTime()).toBeLessThanOrEqual(366 * 86_400_000)
        }
      }),
    )
  })

  it('in halves cover the whole window and are smaller, whatever the starts', () => {
    fc.assert(
      fc.property(windows, fc.array(fc.option(seconds)), (window, starts) => {
        const halves = splitInHalves(
          window,
          starts.map((start) => (start === null ? null : moment(start))),
        )
        const length = (part: Window) => part.to.getTime() - part.from.getTime()
        if (!halves) {
          expect(length(window)).toBeLessThan(2_000)
          return
        }
        const [older, newer] = halves
        expect([older.from, older.to, newer.to]).toEqual([window.from, newer.from, window.to])
        expect(Math.max(length(older), length(newer))).toBeLessThan(length(window))
      }),
    )
  })
})
