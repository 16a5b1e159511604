import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findQueues, findRuns } from '../../../src/features/dashboard/pages/runs/queries.ts'
import { describeWithRedis } from '../../kit/redis.ts'
import { openWebRig, type WebRig } from '../../program/web/rig.ts'

type JobQueue = ReturnType<WebRig['daemon']['jobs']['queues']>[number]
type Queue = {
  name: string
  waiting: number
  failed: number
  jobs: Array<{ job: string; activity_id: number | null; has_failed: boolean; reason: string | null }>
}

describe('the Runs page with queues on postgres', () => pageTests('postgres'))
describeWithRedis('the queues on the page of the runs, on redis', () => pageTests('redis'))

function pageTests(queue: 'postgres' | 'redis') {
  let rig: WebRig
  let worker: WebRig
  let polls: JobQueue
  beforeAll(async () => {
    rig = await openWebRig({ queue })
    const jobs = [11, 12].map((activityId) => ({ accountId: 1, activityId }))
    await rig.daemon.jobs.enqueue('fetch-activity', jobs)
    worker = await openWebRig({ queue, roles: ['web', 'worker'] })
    polls = worker.daemon.jobs.queues().find(({ name }) => name === 'polls') as JobQueue
    await polls.add('poll-activities', { accountId: 'none' })
  })
  afterAll(async () => {
    await rig.close()
    await worker.close()
  })

  const show = async (of: WebRig): Promise<Record<string, Queue>> => {
    const { queues } = JSON.parse((await of.ask('/api/runs')).body) as { queues: Queue[] }
    return Object.fromEntries(queues.map((each) => [each.name, each]))
  }

  it('counts the jobs of each queue, and jobs contain only ids', async () => {
    const queues = await show(rig)
    expect(Object.keys(queues).sort()).toEqual(['fetches', 'polls'])
    expect(queues.fetches).toMatchObject({ waiting: 2, active: 0, failed: 0 })
    const jobs = await Promise.all(rig.daemon.jobs.queues().map((queue) => queue.getJobs()))
    const fetches = jobs.flat().filter(({ name }) => name === 'fetch-activity')
    expect(fetches.map(({ data }) => data)).toEqual(
      expect.arrayContaining([11, 12].map((activityId) => ({ accountId: 1, activityId }))),
    )
  })

  it('lists a failed job once with the reason, and names a schedule by its work', async () => {
    await expect.poll(async () => (await show(worker)).polls?.failed, { timeout: 20_000 }).toBe(1)
    const failed = { job: 'poll-activities', has_failed: true, reason: expect.stringMatching(/accountId/) }
    expect((await show(worker)).polls?.jobs).toMatchObject([failed])
    const data = { name: 'poll-activities', payload: { accountId: 1, activityId: 7 } }
    const work = { key: 'a', name: 'due', every: 1_000, next: 1, template: { data } }
    const odd = new Proxy(polls, {
      get: (of, key) =>
        key === 'getJobSchedulers'
          ? async () => [work]
          : key === 'getJobs'
            ? (_: unknown, ...range: [number, number]) => of.getJobs(['failed'], ...range)
            : Reflect.get(of, key),
    })
    const [found] = await findQueues(worker.daemon.app, [odd])
    expect(found?.jobs).toMatchObject([failed])
    expect(found?.schedules).toMatchObject([{ job: 'poll-activities', activity_id: 7, every_s: 1 }])
  })

  it('shows the runs and the reason if the queues cannot be read', async () => {
    const view = await findRuns(rig.daemon.app, () => Promise.reject(new Error('Redis is away')))
    const problem = expect.stringContaining('Redis is away')
    expect(view).toMatchObject({ runs: [], queues: [], queue_problem: problem })
  })

  it('changes no queue, whatever the HTTP method', async () => {
    const own = { headers: { origin: rig.url } }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const path of ['/queues', '/runs', '/api/runs', '/api/runs/fetches'])
        expect((await rig.ask(path, { method, ...own })).status, `${method} ${path}`).toBeOneOf([400, 404])
    expect((await show(rig)).fetches).toMatchObject({ waiting: 2 })
  })
}
