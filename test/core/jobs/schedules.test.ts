import { expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { catalogOf, handlersOf, QUICK, YEAR } from './handlers.ts'
import { describeJobs, type Rig, type RigInput } from './rig.ts'

const both = { scheduler: true, worker: true }
const schedulerOnly = { scheduler: true, worker: false }

describeJobs('schedules', (rig) => {
  type Opened = Awaited<ReturnType<Rig['open']>>
  const pollsOf = (jobs: Opened) => {
    const queue = jobs.queues().find(({ name }) => name === 'polls')
    if (!queue) throw new Error('no queue of polls')
    return queue
  }
  const schedulesOf = async (jobs: Opened) => {
    const schedules = await pollsOf(jobs).getJobSchedulers(0, -1)
    return schedules.map(({ key }) => key).toSorted()
  }
  const scheduled = (per: 'account' | 'daemon') =>
    Object.entries(QUICK.catalog).flatMap(([name, { schedule }]) => (schedule?.per === per ? [name] : []))
  const ofAccounts = (...ids: number[]) =>
    [
      ...scheduled('daemon'),
      ...ids.flatMap((id) => scheduled('account').map((name) => `${name}-account-${id}`)),
    ].toSorted()

  /** Opens a daemon with a worker. `polled` lists the account of each poll. */
  const openPolling = async (ids: () => number[], options: RigInput = {}) => {
    const polled: number[] = []
    const poll = async (id: number) => void polled.push(id)
    const jobs = await rig().open({ roles: both, accounts: async () => ids(), poll, ...options })
    return { jobs, polled }
  }

  it('schedules follow the accounts: a new one is polled at once, a removed one no longer', async () => {
    let ids = [1, 12]
    const { jobs, polled } = await openPolling(() => ids)
    expect(await schedulesOf(jobs)).toEqual(ofAccounts(1, 12))
    await eventually(() => polled.length === 2, { what: 'both accounts were polled' })
    expect(polled.toSorted()).toEqual([1, 12])
    const nextRuns = (await pollsOf(jobs).getJobSchedulers(0, -1)).map(({ next }) => next ?? 0)
    expect(Math.min(...nextRuns)).toBeGreaterThan(Date.now())
    expect(Math.max(...nextRuns)).toBeLessThanOrEqual(Date.now() + YEAR)
    ids = [2]
    await jobs.keepSchedules()
    expect(await schedulesOf(jobs)).toEqual(ofAccounts(2))
    await eventually(() => polled.includes(2), { what: 'the new account was polled' })
  })

  it('schedules survive a restart, and run at once if their interval changed', async () => {
    const input = { roles: schedulerOnly, accounts: async () => [1] }
    const nextRuns = async (jobs: Opened) =>
      (await pollsOf(jobs).getJobSchedulers(0, -1)).map(({ next }) => next).toSorted()
    const first = await rig().open(input)
    const before = await nextRuns(first)
    await first.close()
    const second = await rig().open(input)
    expect([await schedulesOf(second), await nextRuns(second)]).toEqual([ofAccounts(1), before])
    const { polls } = await second.counts()
    expect([polls.delayed, polls.waiting]).toEqual([before.length, before.length])
    await second.close()
    const { jobs, polled } = await openPolling(() => [1], { catalog: catalogOf(200) })
    await eventually(() => polled.length >= 4, { what: 'the new interval runs' })
    expect(await schedulesOf(jobs)).toEqual(ofAccounts(1))
  })

  it('no poll of an account starts while another one is running', async () => {
    let running = 0
    let most = 0
    let ended = 0
    let letGo: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const poll = async () => {
      running += 1
      most = Math.max(most, running)
      if (ended === 0) await gate
      running -= 1
      ended += 1
    }
    const { jobs } = await openPolling(() => [1], { catalog: catalogOf(100), poll })
    const schedule = () => pollsOf(jobs).getJobScheduler('poll-activities-account-1')
    await eventually(async () => ((await schedule())?.iterationCount ?? 0) >= 5, {
      what: 'the schedule came round several times',
    })
    letGo()
    await eventually(() => ended >= 3, { what: 'it goes on afterwards' })
    expect(most).toBe(1)
  })

  it('a job keeps its interval over restarts, unless it runs at each start', async () => {
    const accounts = async () => [1]
    const ran: string[] = []
    const count = (name: string) => async () => void ran.push(name)
    const handlers = {
      ...handlersOf(),
      ...Object.fromEntries(Object.keys(QUICK.catalog).map((name) => [name, count(name)])),
    }
    for (const _start of [1, 2, 3]) {
      const before = ran.filter((name) => name === 'poll-activities').length
      const jobs = await rig().open({ roles: both, accounts, handlers })
      await eventually(() => ran.filter((name) => name === 'poll-activities').length === before + 1)
      await eventually(async () => {
        const { waiting = 0, active = 0 } = (await jobs.counts()).polls
        return waiting + active === 0
      })
      await jobs.close()
    }
    expect(ran.filter((name) => name === 'poll-workouts')).toHaveLength(1)
    expect(ran.filter((name) => name === 'reconcile-activities')).toHaveLength(1)
    expect(ran.filter((name) => name === 'sweep').length).toBeGreaterThanOrEqual(3)
  })

  it('an overdue schedule is kept while its job waits, and repaired if the job was lost', async () => {
    const catalog = catalogOf(200)
    const jobs = await rig().open({ roles: schedulerOnly, catalog, accounts: async () => [1] })
    const queue = pollsOf(jobs)
    const nextRun = async () => (await queue.getJobScheduler('poll-activities-account-1'))?.next ?? 0
    const before = await nextRun()
    await eventually(() => Date.now() > before + 250, { what: 'it is overdue' })
    await jobs.keepSchedules()
    expect(await nextRun()).toBe(before)
    await rig().losePolls()
    await jobs.keepSchedules()
    expect(await nextRun()).toBeGreaterThan(before)
  })

  it('schedules stay as they are if the accounts cannot be read', async () => {
    let broken = false
    const accounts = async () => {
      if (broken) throw new Error('store: find accounts: no connection')
      return [1]
    }
    const jobs = await rig().open({ roles: schedulerOnly, accounts, heartbeatMs: 50 })
    broken = true
    await eventually(() => rig().lines.some(({ where }) => where === 'heartbeat'), { what: 'a logged error' })
    expect(await schedulesOf(jobs)).toEqual(ofAccounts(1))
  })
})
