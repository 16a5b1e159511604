import { expect, it } from 'vitest'
import { makeErrorTally } from '../../../src/core/jobs/jobs.ts'
import { makeTestLog } from '../../kit/log.ts'

it('a recurring queue error is logged once, then counted, and its count is logged at the end', () => {
  const { log, lines } = makeTestLog()
  let now = 0
  let alarms = 0
  const tally = makeErrorTally({ log, clock: () => new Date(now), onFirst: () => void alarms++ })
  const refused = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
  for (let times = 0; times < 1_000; times += 1) tally.record('worker polls', refused)
  expect(lines).toMatchObject([{ level: 'warn', code: 'ECONNREFUSED' }])
  expect([alarms, tally.failing()]).toEqual([1, true])
  now = 5_000
  tally.settle()
  expect([lines.length, tally.failing()]).toEqual([1, true])
  now = 20_000
  tally.settle()
  expect(lines[1]).toMatchObject({ level: 'info', times: 1_000 })
  expect(tally.failing()).toBe(false)
})
