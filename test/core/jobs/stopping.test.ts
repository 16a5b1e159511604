import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { describeJobs, ride } from './rig.ts'

describeJobs('stopping', (rig) => {
  const never = new Promise<undefined>(() => undefined)

  it('finishes the job of a worker that was killed', async () => {
    const script = fileURLToPath(new URL('crashing-worker.ts', import.meta.url))
    const child: ChildProcess = fork(script, [JSON.stringify(rig().choice)], {
      execArgv: ['--import', 'tsx'],
    })
    try {
      const producer = await rig().open({ roles: { scheduler: false, worker: false } })
      await producer.enqueue('fetch-activity', [ride(1)])
      await once(child, 'message')
    } finally {
      child.kill('SIGKILL')
    }
    const done: number[] = []
    await rig().open({ lockMs: 1_000, stalledMs: 300, fetch: async (id) => void done.push(id) })
    await eventually(() => done.length > 0, { what: 'another worker did it' })
    expect(done).toEqual([1])
  })

  it('signals a running job, waits for it and returns it to the queue', async () => {
    let started = false
    const jobs = await rig().open({
      fetch: async (_id, { signal }) => {
        started = true
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      },
    })
    await jobs.enqueue('fetch-activity', [ride(1)])
    await eventually(() => started, { what: 'the job runs' })
    await jobs.close()
    const done: number[] = []
    const next = await rig().open({ fetch: async (id) => void done.push(id) })
    await eventually(() => done.length > 0, { what: 'it runs again' })
    const queue = next.queues().find(({ name }) => name === 'fetches')
    const job = await eventually(async () => (await queue?.getJobs(['completed']))?.[0], {
      what: 'it is done',
    })
    expect(job.attemptsMade).toBe(1)
    expect(rig().lines.filter(({ level }) => level >= 40)).toEqual([])
  })

  it('signals a job that lost its lock, because another worker may have it', async () => {
    const state = { started: false, isTold: false }
    const jobs = await rig().open({
      lockMs: 500,
      fetch: async (_id, { signal }) => {
        state.started = true
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        state.isTold = true
      },
    })
    await jobs.enqueue('fetch-activity', [ride(1)])
    await eventually(() => state.started, { what: 'the job runs' })
    await rig().emptyQueue()
    await eventually(() => state.isTold, { what: 'the job is told' })
  })

  it('lets a job finish that ignores the signal for a short time', async () => {
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    let started = false
    const jobs = await rig().open({
      fetch: async () => {
        started = true
        await gate
      },
    })
    await jobs.enqueue('fetch-activity', [ride(1)])
    await eventually(() => started, { what: 'the job runs' })
    const closed = jobs.close()
    finish()
    await closed
    const after = await rig().open({ roles: { scheduler: false, worker: false } })
    expect((await after.counts()).fetches.completed).toBe(1)
  })

  it('does not wait for ever for a job that hangs', async () => {
    let started = false
    const jobs = await rig().open({
      closeGraceMs: 200,
      fetch: () => {
        started = true
        return never
      },
    })
    await jobs.enqueue('fetch-activity', [ride(1)])
    await eventually(() => started, { what: 'the job runs' })
    await jobs.close()
    expect(rig().lines.some(({ level, running }) => level === 40 && running === 1)).toBe(true)
  })

  it('starts no further job once the daemon stops', async () => {
    const stop = new AbortController()
    const aborted: boolean[] = []
    let started = 0
    const jobs = await rig().open({
      signal: stop.signal,
      concurrency: 1,
      fetch: async (_id, { signal }) => {
        started += 1
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        aborted.push(signal.aborted)
      },
    })
    await jobs.enqueue('fetch-activity', [ride(1), ride(2)])
    await eventually(() => started > 0, { what: 'the first job runs' })
    stop.abort()
    await jobs.close()
    expect([started, aborted]).toEqual([1, [true]])
    const after = await rig().open({ roles: { scheduler: false, worker: false } })
    expect((await after.counts()).fetches).toMatchObject({ completed: 1, waiting: 1, active: 0 })
  })

  it('may be closed twice', async () => {
    const jobs = await rig().open({ roles: { scheduler: true, worker: true } })
    await Promise.all([jobs.close(), jobs.close()])
    await jobs.close()
    await expect(jobs.enqueue('fetch-activity', [ride(1)])).rejects.toMatchObject({ code: 'queue_closed' })
  })

  it('says that the queue cannot be reached', async () => {
    const url = rig()
      .choice.url.replace(/:\d+/, ':1')
      .replace(/@[^:/]+:\d+/, '@127.0.0.1:1')
    await expect(rig().open({ backend: { ...rig().choice, url } })).rejects.toMatchObject({
      code: 'queue_unreachable',
    })
  })
})
