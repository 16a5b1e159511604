import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { describeWithRedis } from '../../kit/redis.ts'
import { openWebRig, parseMetrics, type WebRig } from './rig.ts'

const OFTEN = { everyMs: 200 }

describe('while the database is unreachable', () => {
  let rig: WebRig | undefined
  afterEach(async () => {
    rig?.line.become('good')
    await rig?.close()
    rig = undefined
  })

  const up = async (open: WebRig, part: string) => {
    const { status, body } = await open.ask('/metrics')
    expect(status).toBe(200)
    return { value: parseMetrics(body).get(`musette_up{part="${part}"}`), body }
  }
  const expectAway = async (open: WebRig) => {
    const { body } = await eventually(async () => {
      const seen = await up(open, 'database')
      return seen.value === 0 && seen
    }, OFTEN)
    expect(body).toMatch(/^musette_process_resident_memory_bytes \d/m)
    expect(body).not.toMatch(/^musette_(database_bytes|activities|account)/m)
    const ready = await eventually(async () => {
      const answer = await open.ask('/readyz')
      return answer.status === 503 && answer
    }, OFTEN)
    expect(JSON.parse(ready.body).parts.database).toMatch(/^unreachable \(\w+\); run: musette status$/)
    expect(await open.ask('/healthz')).toMatchObject({ status: 200 })
  }
  const expectBack = async (open: WebRig) => {
    open.line.become('good')
    await eventually(async () => (await up(open, 'database')).value === 1, OFTEN)
    await eventually(async () => (await open.ask('/readyz')).status === 200, OFTEN)
  }

  it('metrics and health answer at once, report the outage, and recover, even if the server hangs', async () => {
    rig = await openWebRig()
    expect((await up(rig, 'database')).value).toBe(1)
    rig.line.become('cut')
    await expectAway(rig)
    expect((await up(rig, 'queue')).value).toBe(0)
    await expectBack(rig)
    rig.line.become('silent')
    await expectAway(rig)
    expect((await rig.ask('/readyz')).body).toContain('no_answer')
    await expectBack(rig)
  })

  describeWithRedis('and the queue is reachable', () => {
    it('database and queue have separate states', async () => {
      rig = await openWebRig({ queue: 'redis' })
      rig.line.become('cut')
      await expectAway(rig)
      expect((await up(rig, 'queue')).value).toBe(1)
    })
  })
})
