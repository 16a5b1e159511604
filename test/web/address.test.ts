import { describe, expect, it } from 'vitest'
import type { DashboardDeps } from '../../src/web/dashboard/dashboard.ts'
import { makeMetrics } from '../../src/web/metrics/metrics.ts'
import { openWeb } from '../../src/web/web.ts'
import { makeSilentLog } from '../kit/log.ts'

const nobody = () => Promise.reject(new Error('nobody asks'))
const log = makeSilentLog()
const dashboard: DashboardDeps = {
  findOverview: nobody,
  findOlderActivities: nobody,
  findActivity: nobody,
  findSamples: nobody,
  findFitness: nobody,
}
const endedSessions = { find: nobody, record: nobody }
const open = (host: string, token?: string, port = 0) => {
  const metrics = makeMetrics({ now: () => new Date() }, { version: '0' })
  const deps = { log, metrics, dashboard, readiness: nobody, figures: nobody, boards: [], endedSessions }
  return openWeb(deps, { host, port, token })
}

describe('an address to listen on', () => {
  it('is refused without a token when others can reach it', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'musette.test', 'localhost.test', '']) {
      await expect(open(host), host).rejects.toMatchObject({ code: 'http_token_missing' })
    }
  })

  it('needs no token on loopback, and none but the token elsewhere', async () => {
    for (const [host, token] of [
      ['127.0.0.1'],
      ['localhost'],
      ['0.0.0.0', 'a token of the tests'],
    ] as const) {
      const web = await open(host, token)
      expect((await fetch(`${web.url}/healthz`)).status).toBe(200)
      await web.close()
    }
  })

  it('that somebody else has is refused with what to set', async () => {
    const web = await open('127.0.0.1')
    const { port } = new URL(web.url)
    const second = open('127.0.0.1', undefined, Number(port))
    await expect(second).rejects.toMatchObject({
      code: 'http_cannot_listen',
      message: expect.stringContaining('set another address, or off'),
    })
    await web.close()
  })
})
