import { describe, expect, it } from 'vitest'
import { type EndedSessions, makeSessions } from '../../../src/program/web/sessions.ts'
import { makeTestLog } from '../../kit/log.ts'

const START = new Date('2024-05-01T12:00:00Z').getTime()
const DAY = 86_400_000

function makeClock() {
  let time = START
  const advance = (ms: number) => {
    time += ms
  }
  return { now: () => new Date(time), advance }
}

/** The ended sessions that all processes of a database share; `away` makes the database unreachable. */
function makeEnded(): EndedSessions & { away: boolean } {
  const ids = new Set<string>()
  const ended = {
    away: false,
    find: async () => {
      if (ended.away) throw new Error('no database')
      return new Set(ids)
    },
    record: async ({ id }: { id: string }) => {
      if (ended.away) throw new Error('no database')
      ids.add(id)
    },
  }
  return ended
}

function open(
  clock: ReturnType<typeof makeClock>,
  { token = 'token', ended = makeEnded(), log = makeTestLog() } = {},
) {
  return makeSessions({ log: log.log, now: clock.now, ended }, token)
}

describe('a browser session', () => {
  it('stays open for a month, even after a restart with the same token, and ends with another token', async () => {
    const clock = makeClock()
    const { value, maxAgeS } = open(clock).begin()
    expect(maxAgeS).toBe(30 * 24 * 3600)
    clock.advance(30 * DAY - 1)
    expect(await open(clock).isOpen(value)).toBe(true)
    expect(await open(clock, { token: 'another' }).isOpen(value)).toBe(false)
    clock.advance(1)
    expect(await open(clock).isOpen(value)).toBe(false)
  })

  it('cannot be extended or forged', async () => {
    const sessions = open(makeClock())
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
    for (const value of forged) expect(await sessions.isOpen(value), value).toBe(false)
  })

  it('stays signed out after a restart, and in another process', async () => {
    const [clock, ended] = [makeClock(), makeEnded()]
    const sessions = open(clock, { ended })
    const [one, other] = [sessions.begin().value, sessions.begin().value]
    await sessions.end(one)
    for (const process of [sessions, open(clock, { ended })])
      expect([await process.isOpen(one), await process.isOpen(other)]).toEqual([false, true])
  })

  it('is signed out only in this process if the sign-out cannot be stored, and the log says so', async () => {
    const [clock, ended, log] = [makeClock(), makeEnded(), makeTestLog()]
    const sessions = open(clock, { ended, log })
    const [value, other] = [sessions.begin().value, sessions.begin().value]
    ended.away = true
    await sessions.end(value)
    expect(await sessions.isOpen(value)).toBe(false)
    expect(await sessions.isOpen(other)).toBe(true)
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })
})
