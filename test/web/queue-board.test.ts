import { appRoutes } from '@bull-board/api/dist/routes.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeWithRedis } from '../kit/redis.ts'
import { openWebRig, type WebRig } from './rig.ts'

type Shown = {
  queues: Array<{ name: string; counts: Record<string, number>; jobs: Array<{ id: string; data: unknown }> }>
}

describe('the board of the queues on postgres', () => boardTests('postgres'))
describeWithRedis('the board of the queues on redis', () => boardTests('redis'))

function boardTests(queue: 'postgres' | 'redis') {
  let rig: WebRig
  beforeAll(async () => {
    rig = await openWebRig({ queue })
    await rig.daemon.jobs.enqueue('fetch-activity', [
      { accountId: 1, activityId: 11 },
      { accountId: 1, activityId: 12 },
    ])
  })
  afterAll(() => rig.close())

  const show = async (): Promise<Shown> =>
    JSON.parse((await rig.ask('/queues/api/queues?activeQueue=fetches&status=prioritized&page=1')).body)
  const fetches = async () => (await show()).queues.find(({ name }) => name === 'fetches')

  it('shows every queue and the jobs in it, which contain nothing but ids', async () => {
    const { queues } = await show()
    expect(queues.map(({ name }) => name).sort()).toEqual(['fetches', 'polls'])
    const shown = await fetches()
    expect(shown?.counts).toMatchObject({ prioritized: 2 })
    expect(shown?.jobs.map(({ data }) => data)).toEqual(
      expect.arrayContaining([
        { accountId: 1, activityId: 11 },
        { accountId: 1, activityId: 12 },
      ]),
    )
  })

  it('names the backend of the queues', async () => {
    const stats = await rig.ask('/queues/api/redis/stats')
    expect(JSON.parse(stats.body)).toMatchObject({ backend: queue })
  })

  it('brings its scripts and styles from here, and nothing from another host', async () => {
    for (const path of ['/queues', '/queues/', '/queues/queue/fetches']) {
      const page = await rig.ask(path)
      expect(page, path).toMatchObject({
        status: 200,
        headers: { 'content-type': expect.stringContaining('html') },
      })
      expect(page.body, path).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
      expect(page.headers['content-security-policy']).toContain("script-src 'self';")
    }
    const page = await rig.ask('/queues')
    const files = [...page.body.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map((match) => match[1])
    expect(files.length).toBeGreaterThan(4)
    for (const file of files) expect(await rig.ask(`/queues/${file}`), file).toMatchObject({ status: 200 })
  })

  it('refuses every request that would change a queue, also from its own page', async () => {
    const id = (await fetches())?.jobs[0]?.id ?? ''
    const parts: Record<string, string> = {
      ':queueName': 'fetches',
      ':jobId': id,
      ':queueStatus': 'prioritized',
      ':schedulerId': 'any',
    }
    const writes = appRoutes.api
      .flatMap(({ method, route }) =>
        [method].flat().flatMap((verb) => [route].flat().map((path) => ({ verb, path }))),
      )
      .filter(({ verb }) => verb !== 'get')
      .map(({ verb, path }) => ({
        method: verb.toUpperCase(),
        path: `/queues${path.replace(/:\w+/g, (name) => parts[name] ?? name)}`,
      }))
    expect(writes.length).toBeGreaterThan(20)
    for (const { method, path } of writes) {
      const what = `${method} ${path}`
      const own = { headers: { origin: rig.url, 'content-type': 'application/json' }, body: '{}' }
      expect(await rig.ask(path, { method, ...own }), what).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD' },
      })
      const foreign = { headers: { origin: 'http://evil.test' } }
      expect(await rig.ask(path, { method, ...foreign }), what).toMatchObject({ status: 403 })
      expect(await rig.ask(path, { method }), what).toMatchObject({ status: 403 })
    }
    expect((await fetches())?.counts).toMatchObject({ prioritized: 2 })
    expect(await show()).toMatchObject({
      queues: expect.arrayContaining([
        expect.objectContaining({ name: 'fetches', isPaused: false, readOnlyMode: true }),
      ]),
    })
  })

  it('sends forms to this site only', async () => {
    const page = await rig.ask('/queues')
    expect(page.headers['content-security-policy']).toContain("form-action 'self'")
  })

  it('answers 404 for a queue or a job that does not exist', async () => {
    expect(await rig.ask('/queues/api/queues/none/1')).toMatchObject({ status: 404 })
    expect(await rig.ask('/queues/api/queues/fetches/none')).toMatchObject({ status: 404 })
  })
}
