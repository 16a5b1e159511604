import { expect, it } from 'vitest'
import { makeCoreCatalog } from '../../../src/core/jobs/catalog.ts'
import { phaseOf, verdictOn, wantedSchedules } from '../../../src/core/jobs/schedules.ts'
import { HOUR, MINUTE } from '../../../src/kit/time.ts'
import { readConfig } from '../../kit/config.ts'

const catalog = makeCoreCatalog(readConfig({}))

it('schedules of a thousand accounts are spread evenly over the interval', () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => index + 1)
  const polls = wantedSchedules(ids, catalog).filter(({ name }) => name === 'poll-activities')
  const perMinute = new Array<number>(15).fill(0)
  for (const { offset } of polls)
    perMinute[Math.floor(offset / MINUTE)] = (perMinute[Math.floor(offset / MINUTE)] ?? 0) + 1
  expect(polls).toHaveLength(1_000)
  expect(Math.min(...perMinute)).toBeGreaterThan(40)
  expect(Math.max(...perMinute)).toBeLessThan(100)
  expect(ids.map((id) => phaseOf(`sweep-${id}`, 2))).toEqual(ids.map(() => 1))
})

it('the interval of a schedule is rounded to whole milliseconds', () => {
  const sweep = { ...catalog.sweep, schedule: { ...catalog.sweep.schedule, everyMs: 1_000.4 } }
  expect(wantedSchedules([], { ...catalog, sweep })).toMatchObject([{ id: 'sweep', everyMs: 1_000 }])
})

const wanted = { id: 'sweep', name: 'sweep', payload: {}, everyMs: HOUR, offset: 7 } as const
const found = { everyMs: HOUR, offset: 7, nextAt: 10 * HOUR + 7 }

it.each([
  ['fine while the next run is ahead', found, 9.5 * HOUR, 'fine'],
  ['fine while the run is a little late', found, 10.5 * HOUR, 'fine'],
  ['missing if the queue has none', undefined, 0, 'missing'],
  ['changed if it has another interval', { ...found, everyMs: MINUTE }, 9.5 * HOUR, 'changed'],
  ['silent if the next run is more than two intervals ahead', found, 7 * HOUR, 'silent'],
  ['silent if there is no next run', { ...found, nextAt: undefined }, 9.5 * HOUR, 'silent'],
  ['overdue if it is more than an interval late', found, 11.5 * HOUR, 'overdue'],
])('a schedule is %s', (_title, schedule, now, verdict) => {
  expect(verdictOn(schedule, wanted, now)).toBe(verdict)
})
