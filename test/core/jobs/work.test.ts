import { expect, it } from 'vitest'
import { RateLimitedError, RejectedError, TransientError } from '../../../src/kit/errors.ts'
import { eventually } from '../../kit/eventually.ts'
import { describeJobs, type Rig, type RigInput, ride } from './rig.ts'

describeJobs('the worker', (rig) => {
  const only = async (state: 'completed' | 'failed', jobs: Awaited<ReturnType<Rig['open']>>) => {
    const [queue] = jobs.queues().filter(({ name }) => name === 'fetches')
    return eventually(async () => (await queue?.getJobs([state]))?.[0], { what: `a job is ${state}` })
  }

  /** Opens a daemon and lists the ids of its fetches and polls. */
  const openListing = async (options: RigInput = {}) => {
    const [done, polled]: [number[], number[]] = [[], []]
    const list = (to: number[]) => async (id: number) => void to.push(id)
    const jobs = await rig().open({ fetch: list(done), poll: list(polled), ...options })
    return { jobs, done, polled }
  }
  /** Opens a daemon whose fetches throw the error that `errorOf` returns for their number, and counts them. */
  const openFailing = async (errorOf: (run: number) => Error | undefined) => {
    const counted = { runs: 0 }
    const fetch = async () => {
      counted.runs += 1
      const error = errorOf(counted.runs)
      if (error) throw error
    }
    const jobs = await rig().open({ fetch })
    await jobs.enqueue('fetch-activity', [ride(1)])
    return { jobs, counted }
  }

  it('retries a job after a transient error, which costs an attempt', async () => {
    const passing = new TransientError('service_timeout', 'service: fetch: timed out')
    const { jobs, counted } = await openFailing((run) => (run < 3 ? passing : undefined))
    const job = await only('completed', jobs)
    expect(counted.runs).toBe(3)
    expect(job.attemptsMade).toBe(3)
    const warned = rig().lines.filter(({ level, code }) => level === 40 && code === 'service_timeout')
    const line = { job: 'fetch-activity', accountId: 1 }
    expect(warned).toMatchObject([
      { ...line, attempt: 1 },
      { ...line, attempt: 2 },
    ])
  })

  it('delays a rate-limited job without spending an attempt or delaying other accounts', async () => {
    const starts: number[] = []
    const others: number[] = []
    const jobs = await rig().open({
      concurrency: 1,
      fetch: async () => {
        starts.push(Date.now())
        if (starts.length < 2)
          throw new RateLimitedError('rate_limited', 'service: fetch: too many requests', 4_000.5)
      },
      poll: async () => void others.push(Date.now()),
    })
    await jobs.enqueue('fetch-activity', [ride(1)])
    await eventually(() => starts.length > 0, { what: 'the limit was met' })
    await eventually(async () => rig().lines.some(({ waitMs }) => waitMs === 4_001), {
      what: 'the limit holds',
    })
    await jobs.enqueue('poll-activities', [{ accountId: 2 }])
    await eventually(() => others.length > 0, { what: 'the other account is polled' })
    expect(starts).toHaveLength(1)
    await eventually(() => starts.length === 2, { what: 'the job runs again' })
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThanOrEqual(4_000)
    const job = await only('completed', jobs)
    expect(job.attemptsMade).toBe(1)
  })

  it('takes turns between accounts, even if one queued many jobs first', async () => {
    const producer = await rig().open({ roles: { scheduler: false, worker: false } })
    const enqueue = (accountId: number, activityIds: number[]) =>
      producer.enqueue(
        'fetch-activity',
        activityIds.map((activityId) => ({ accountId, activityId })),
      )
    await enqueue(1, [11, 12, 13, 14, 15])
    await enqueue(2, [21, 22, 23])
    const { done } = await openListing({ concurrency: 1 })
    await eventually(() => done.length === 8, { what: 'all are done' })
    expect(done).toEqual([11, 21, 12, 22, 13, 23, 14, 15])
  })

  it('resumes a queue that another program paused, and logs it', async () => {
    const { jobs, polled } = await openListing({ heartbeatMs: 500 })
    const polls = jobs.queues().find(({ name }) => name === 'polls')
    await polls?.pause()
    expect(await jobs.paused()).toEqual(['polls'])
    await jobs.enqueue('poll-activities', [{ accountId: 1 }])
    await eventually(() => polled.length > 0, { what: 'the paused queue works again' })
    expect(await jobs.paused()).toEqual([])
    expect(rig().lines.filter(({ level, queue }) => level === 40 && queue === 'polls')).toHaveLength(1)
  })

  it('fails a job queued by another program with a readable error, and keeps working', async () => {
    const { jobs, polled } = await openListing()
    const polls = jobs.queues().find(({ name }) => name === 'polls')
    const odd: [name: string, data: unknown][] = [
      ['due', null],
      ['due', { name: 'nope', payload: 1 }],
      ['sweep', { x: 1 }],
      ['poll-activities', { accountId: 1e300 }],
      ['__proto__', {}],
      ['', 'text'],
      ['x'.repeat(5_000), { y: 'y'.repeat(100_000) }],
    ]
    for (const [name, data] of odd) await polls?.add(name, data)
    await jobs.enqueue('poll-activities', [{ accountId: 1 }])
    await eventually(() => polled.length > 0, { what: 'a job of musette ran' })
    const dead = () => rig().lines.filter(({ level }) => level === 50)
    await eventually(() => dead().length === odd.length, { what: 'each odd job is dead' })
    for (const line of dead()) {
      expect(line).toMatchObject({
        code: expect.stringMatching(/^job_un(known|readable)$/),
        error: expect.stringMatching(/; another version or program shares the queue$/),
      })
      expect(JSON.stringify(line).length).toBeLessThan(1_000)
    }
  })

  it('keeps a refused job with its reason and does not retry it', async () => {
    const refusal = new RejectedError('not_found', 'service: fetch activity: no such activity')
    const { jobs, counted } = await openFailing(() => refusal)
    const job = await only('failed', jobs)
    expect(job.failedReason).toBe('not_found: service: fetch activity: no such activity')
    expect(counted.runs).toBe(1)
    expect(rig().lines.filter(({ level }) => level === 50)).toHaveLength(1)
  })

  it('gives up on a bug after three attempts and keeps its stack', async () => {
    const defect = () => new TypeError(`bad \u0000 thing \ud83d ${'x'.repeat(2_000)}\u{1f6b4}`)
    const { jobs, counted } = await openFailing(defect)
    const job = await only('failed', jobs)
    expect(counted.runs).toBe(3)
    expect(job.failedReason).toMatch(/^unexpected: bad thing/)
    expect(job.failedReason.length).toBeLessThan(600)
    expect(job.stacktrace?.join()).toContain('work.test.ts')
  })

  it('runs a queued job only once, and accepts it again when it is done', async () => {
    const producer = await rig().open({ roles: { scheduler: false, worker: false } })
    await expect(producer.enqueue('fetch-activity', [ride(4), ride(-1)])).rejects.toThrow()
    expect(await producer.enqueue('fetch-activity', [ride(1), ride(1), ride(2)])).toBe(2)
    expect(await producer.enqueue('fetch-activity', [ride(2), ride(3)])).toBe(1)
    expect((await producer.counts()).fetches.waiting).toBe(3)
    const { jobs, done } = await openListing()
    await eventually(async () => (await jobs.counts()).fetches.completed === 3, { what: 'all are done' })
    expect(done.toSorted()).toEqual([1, 2, 3])
    expect((await only('completed', jobs)).data).toMatchObject({
      accountId: 1,
      activityId: expect.any(Number),
    })
    expect(await jobs.enqueue('fetch-activity', [ride(2)])).toBe(1)
    await eventually(() => done.length === 4, { what: 'it ran again' })
  })
})
