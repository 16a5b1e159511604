import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { makeErrorTally } from '../../../src/core/jobs/jobs.ts'

describe('the tally of queue errors', () => {
  it('logs an error once, counts the rest, and logs the number at the end', () => {
    const lines: Array<Record<string, unknown>> = []
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
    let now = 0
    let alarms = 0
    const tally = makeErrorTally({ log, clock: () => new Date(now), onFirst: () => void alarms++ })
    const refused = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
    for (let times = 0; times < 1_000; times += 1) tally.record('worker polls', refused)
    expect(lines).toMatchObject([{ level: 40, code: 'ECONNREFUSED' }])
    expect([alarms, tally.failing()]).toEqual([1, true])

    now = 5_000
    tally.settle()
    expect([lines.length, tally.failing()]).toEqual([1, true])

    now = 20_000
    tally.settle()
    expect(lines[1]).toMatchObject({ level: 30, times: 1_000 })
    expect([lines.length, tally.failing()]).toEqual([2, false])
  })
})
