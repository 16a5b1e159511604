import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { makeTestLog } from '../../kit/log.ts'
import { ask, bearer, openBareWeb } from './rig.ts'

describe('wrong tokens of one address', () => {
  it('write one log line each, and none after they are refused', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2024-05-01T12:00:00Z') })
    onTestFinished(() => void vi.useRealTimers())
    const log = makeTestLog()
    const web = await openBareWeb({ host: '0.0.0.0', token: 'a token of the tests', log })
    onTestFinished(() => web.close())
    const url = `${web.url.replace('0.0.0.0', '127.0.0.1')}/nothing`
    const guess = (from = '127.0.0.1') =>
      ask(url, { headers: { authorization: bearer('wrong') }, localAddress: from })
    const guesses = async (times: number) => {
      const statuses: number[] = []
      for (let time = 0; time < times; time += 1) statuses.push((await guess()).status)
      return statuses
    }
    expect(await guesses(7)).toEqual([401, 401, 401, 401, 401, 429, 429])
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(5)
    vi.setSystemTime(Date.now() + 4_000)
    expect(await guess()).toMatchObject({ status: 429, headers: { 'retry-after': '6' } })
    if (process.platform === 'linux') expect(await guess('127.0.0.2')).toMatchObject({ status: 401 })
    vi.setSystemTime(Date.now() + 6_000)
    expect(await guesses(6)).toEqual([401, 401, 401, 401, 401, 429])
  })
})
