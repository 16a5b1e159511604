import { describe, expect, it } from 'vitest'
import { makeAttempts } from '../../src/web/access/attempts.ts'
import { makeSessions } from '../../src/web/access/sessions.ts'

const START = new Date('2024-05-01T12:00:00Z').getTime()
const DAY = 86_400_000

function makeClock() {
  let time = START
  return {
    now: () => new Date(time),
    advance(ms: number) {
      time += ms
    },
  }
}

describe('a browser session', () => {
  it('is open for a month, and then not any more', () => {
    const clock = makeClock()
    const sessions = makeSessions(clock, 'token')
    const { value, maxAgeS } = sessions.begin()
    expect(maxAgeS).toBe(30 * 24 * 3600)
    clock.advance(30 * DAY - 1)
    expect(sessions.isOpen(value)).toBe(true)
    clock.advance(1)
    expect(sessions.isOpen(value)).toBe(false)
  })

  it('outlives a restart with the same token, and ends with another', () => {
    const clock = makeClock()
    const { value } = makeSessions(clock, 'token').begin()
    expect(makeSessions(clock, 'token').isOpen(value)).toBe(true)
    expect(makeSessions(clock, 'another').isOpen(value)).toBe(false)
  })

  it('cannot be made longer, and cannot be made up', () => {
    const sessions = makeSessions(makeClock(), 'token')
    const [end = '', nonce = '', signature = ''] = sessions.begin().value.split('.')
    const forged = [
      `${Number(end) + 1}.${nonce}.${signature}`,
      `${end}.${nonce}.${signature.replace(/./, (digit) => (digit === '0' ? '1' : '0'))}`,
      `${end}.${nonce}`,
      `${end}.${nonce}.`,
      `.${signature}`,
      '',
      '.',
    ]
    for (const value of forged) expect(sessions.isOpen(value), value).toBe(false)
  })

  it('ends when it is ended, and leaves the others open', () => {
    const sessions = makeSessions(makeClock(), 'token')
    const [one, other] = [sessions.begin().value, sessions.begin().value]
    sessions.end(one)
    expect(sessions.isOpen(one)).toBe(false)
    expect(sessions.isOpen(other)).toBe(true)
  })
})

describe('wrong tokens', () => {
  it('make a pause that grows to two seconds', () => {
    const clock = makeClock()
    const attempts = makeAttempts(clock)
    expect(attempts.waitMs()).toBe(0)
    const pauses = [1, 2, 3, 4, 5, 6].map(() => {
      attempts.recordWrong()
      const pause = attempts.waitMs()
      clock.advance(pause)
      expect(attempts.waitMs()).toBe(0)
      return pause
    })
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 2_000, 2_000])
  })

  it('are forgotten after a quiet minute', () => {
    const clock = makeClock()
    const attempts = makeAttempts(clock)
    for (let times = 0; times < 5; times += 1) attempts.recordWrong()
    clock.advance(60_001)
    attempts.recordWrong()
    expect(attempts.waitMs()).toBe(250)
  })

  it('hold nobody for long when the clock is set back', () => {
    const clock = makeClock()
    const attempts = makeAttempts(clock)
    attempts.recordWrong()
    clock.advance(-DAY)
    expect(attempts.waitMs()).toBe(0)
  })
})
