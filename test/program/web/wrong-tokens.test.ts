import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeTestLog } from '../../kit/log.ts'
import { ask, bearer, openBareWeb } from './rig.ts'

const TOKEN = 'a token of the tests'
const START = new Date('2024-05-01T12:00:00Z')

describe('wrong tokens of one address', () => {
  const log = makeTestLog()
  let web: Awaited<ReturnType<typeof openBareWeb>>
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: START })
    log.lines.length = 0
    web = await openBareWeb({ host: '0.0.0.0', token: TOKEN, log })
  })
  afterEach(async () => {
    vi.useRealTimers()
    await web.close()
  })

  const advance = (ms: number) => vi.setSystemTime(Date.now() + ms)
  const url = () => web.url.replace('0.0.0.0', '127.0.0.1')
  const send = (token: string, localAddress?: string) =>
    ask(`${url()}/nothing`, {
      headers: { authorization: bearer(token) },
      ...(localAddress && { localAddress }),
    })
  const guess = async (times: number, localAddress?: string) => {
    const statuses: number[] = []
    for (let time = 0; time < times; time += 1)
      statuses.push((await send(`wrong ${time}`, localAddress)).status)
    return statuses
  }

  it('write one log line each, and none once they are refused', async () => {
    expect(await guess(7)).toEqual([401, 401, 401, 401, 401, 429, 429])
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(5)
    advance(4_000)
    expect(await send('wrong')).toMatchObject({ status: 429, headers: { 'retry-after': '6' } })
    if (process.platform === 'linux') expect(await guess(1, '127.0.0.2')).toEqual([401])
    advance(6_000)
    expect(await guess(6)).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('never refuse the right one, also when the clock was set back meanwhile', async () => {
    await guess(6)
    expect((await send(TOKEN)).status).toBe(404)
    advance(-86_400_000)
    expect((await send(TOKEN)).status).toBe(404)
  })
})
