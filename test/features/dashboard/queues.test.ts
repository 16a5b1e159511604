import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findQueues, findRuns } from '../../../src/features/dashboard/pages/runs/queries.ts'
import { describeWithRedis } from '../../kit/redis.ts'
import { openWebRig, type WebRig } from '../../program/web/rig.ts'

type Queue = {
  name: string
  waiting: number
  failed: number
  jobs: Array<{ job: string; activity_id: number | null; has_failed: boolean; reason: string | null }>
}

describe('the queues on the page of the runs, on postgres', () => pageTests('postgres'))
describeWithRedis('the queues on the page of the runs, on redis', () => pageTests('redis'))

function pageTests(queue: 'postgres' | 'redis') {
  let rig: WebRig
  let worker: WebRig
  beforeAll(async () => {
    rig = await openWebRig({ queue })
    await rig.daemon.jobs.enqueue('fetch-activity', [
      { accountId: 1, activityId: 11 },
      { accountId: 1, activityId: 12 },
    ])
    worker = await openWebRig({ queue, roles: ['web', 'worker'] })
    const polls = worker.daemon.jobs.queues().find(({ name }) => name === 'polls')
    await polls?.add('poll-activities', { accountId: 'none' })
  })
  afterAll(async () => {
    await rig.close()
    await worker.close()
  })

  const show = async (of: WebRig): Promise<Record<string, Queue>> => {
    const { queues } = JSON.parse((await of.ask('/api/runs')).body) as { queues: Queue[] }
    return Object.fromEntries(queues.map((each) => [each.name, each]))
  }

  it('counts the jobs of every queue, which contain only ids', async () => {
    const queues = await show(rig)
    expect(Object.keys(queues).sort()).toEqual(['fetches', 'polls'])
    expect(queues.fetches).toMatchObject({ waiting: 2, active: 0, failed: 0 })
    const jobs = await Promise.all(rig.daemon.jobs.queues().map((queue) => queue.getJobs()))
    const fetches = jobs.flat().filter(({ name }) => name === 'fetch-activity')
    expect(fetches.map(({ data }) => data)).toEqual(
      expect.arrayContaining([11, 12].map((activityId) => ({ accountId: 1, activityId }))),
    )
  })

  it('names a job that failed, and why', async () => {
    await expect.poll(async () => (await show(worker)).polls?.failed, { timeout: 20_000 }).toBe(1)
    expect((await show(worker)).polls?.jobs).toMatchObject([
      { job: 'poll-activities', has_failed: true, reason: expect.stringMatching(/accountId/) },
    ])
  })

  it('names a scheduled job by the work that it enqueues, and the account', async () => {
    const work = {
      key: 'a',
      name: 'due',
      every: 1_000,
      next: 1,
      template: { data: { name: 'poll-activities', payload: { accountId: 1, activityId: 7 } } },
    }
    const [polls] = worker.daemon.jobs.queues()
    if (!polls) throw new Error('no queue')
    const scheduled = new Proxy(polls, {
      get: (of, key) => (key === 'getJobSchedulers' ? async () => [work] : Reflect.get(of, key)),
    })
    const [queue] = await findQueues(worker.daemon.app, [scheduled])
    expect(queue?.schedules).toMatchObject([{ job: 'poll-activities', activity_id: 7, every_s: 1 }])
  })

  it('shows a job that fails while the page reads once', async () => {
    const [polls] = worker.daemon.jobs.queues().filter(({ name }) => name === 'polls')
    if (!polls) throw new Error('no queue of polls')
    await expect.poll(async () => (await show(worker)).polls?.failed, { timeout: 20_000 }).toBe(1)
    const movesMeanwhile = new Proxy(polls, {
      get: (of, key) =>
        key === 'getJobs'
          ? (_: unknown, ...range: [number, number]) => of.getJobs(['failed'], ...range)
          : Reflect.get(of, key),
    })
    const [queue] = await findQueues(worker.daemon.app, [movesMeanwhile])
    expect(queue?.jobs).toMatchObject([{ job: 'poll-activities', has_failed: true }])
  })

  it('shows the runs also while the queues cannot be read, and why', async () => {
    const view = await findRuns(rig.daemon.app, () => Promise.reject(new Error('Redis is away')))
    expect(view).toMatchObject({
      runs: [],
      queues: [],
      queue_problem: expect.stringContaining('Redis is away'),
    })
  })

  it('changes nothing by any method', async () => {
    const own = { headers: { origin: rig.url } }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const path of ['/queues', '/runs', '/api/runs', '/api/runs/fetches'])
        expect((await rig.ask(path, { method, ...own })).status, `${method} ${path}`).toBeOneOf([400, 404])
    expect((await show(rig)).fetches).toMatchObject({ waiting: 2 })
  })
}
