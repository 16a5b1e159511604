import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { sleep } from '../../../src/kit/time.ts'
import { eventually } from '../../kit/eventually.ts'
import type { Fetch } from './handlers.ts'
import { describeJobs, type RigInput, ride } from './rig.ts'

describeJobs('stopping jobs', (rig) => {
  const idle = { scheduler: false, worker: false }
  const untilAbort = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  /** Opens jobs, enqueues fetches, and waits until the first one runs. */
  const runFetch = async (fetch: Fetch, options: RigInput = {}, rides = [ride(1)]) => {
    let started = 0
    const counted: Fetch = (id, context) => {
      started += 1
      return fetch(id, context)
    }
    const jobs = await rig().open({ ...options, fetch: counted })
    await jobs.enqueue('fetch-activity', rides)
    await eventually(() => started > 0, { what: 'the job runs' })
    return { jobs, started: () => started }
  }

  it('another worker finishes the job of a killed worker', async () => {
    const script = fileURLToPath(new URL('crashing-worker.ts', import.meta.url))
    const execArgv = ['--import', 'tsx']
    const child: ChildProcess = fork(script, [JSON.stringify(rig().choice)], { execArgv })
    try {
      const producer = await rig().open({ roles: idle })
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

  it('a closing worker aborts a running job, waits for it and returns it to the queue', async () => {
    const { jobs } = await runFetch(async (_id, { signal }) => {
      await untilAbort(signal)
      throw signal.reason
    })
    await jobs.close()
    const done: number[] = []
    const next = await rig().open({ fetch: async (id) => void done.push(id) })
    await eventually(() => done.length > 0, { what: 'it runs again' })
    const queue = next.queues().find(({ name }) => name === 'fetches')
    const job = await eventually(async () => (await queue?.getJobs(['completed']))?.[0], { what: 'its end' })
    expect(job.attemptsMade).toBe(1)
    expect(rig().lines.filter(({ level }) => level >= 40)).toEqual([])
  })

  it('a job that lost its lock is aborted', async () => {
    let isTold = false
    const fetch: Fetch = async (_id, { signal }) => {
      await untilAbort(signal)
      isTold = true
    }
    await runFetch(fetch, { lockMs: 500 })
    await rig().emptyQueue()
    await eventually(() => isTold, { what: 'the job is told' })
  })

  it('a job whose lock expired before it started never runs twice at once', async () => {
    const running = new Map<number, number>()
    let most = 0
    const done = new Set<number>()
    const fetch: Fetch = async (id) => {
      running.set(id, (running.get(id) ?? 0) + 1)
      most = Math.max(most, ...running.values())
      // The other job has been handed out already, and starts after this one.
      if (running.size === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
      else await sleep(500)
      running.set(id, (running.get(id) ?? 0) - 1)
      done.add(id)
    }
    await runFetch(fetch, { concurrency: 3, lockMs: 2_500, stalledMs: 50 }, [ride(1), ride(2)])
    await eventually(() => done.size === 2, { what: 'both are done' })
    expect(most).toBe(1)
  })

  it('a closing worker waits briefly for a job that ignores the signal, but not forever', async () => {
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    const { jobs } = await runFetch(() => gate)
    const closed = jobs.close()
    finish()
    await closed
    const after = await rig().open({ roles: idle })
    expect((await after.counts()).fetches.completed).toBe(1)
    const hanging = await runFetch(() => new Promise<undefined>(() => undefined), { closeGraceMs: 200 }, [
      ride(2),
    ])
    await hanging.jobs.close()
    expect(rig().lines.some(({ level, running }) => level === 40 && running === 1)).toBe(true)
  })

  it('no further job starts once the daemon stops', async () => {
    const stop = new AbortController()
    const aborted: boolean[] = []
    const fetch: Fetch = async (_id, { signal }) => {
      await untilAbort(signal)
      aborted.push(signal.aborted)
    }
    const options = { signal: stop.signal, concurrency: 1 }
    const { jobs, started } = await runFetch(fetch, options, [ride(1), ride(2)])
    stop.abort()
    await jobs.close()
    expect([started(), aborted]).toEqual([1, [true]])
    const after = await rig().open({ roles: idle })
    expect((await after.counts()).fetches).toMatchObject({ completed: 1, waiting: 1, active: 0 })
  })

  it('a closed queue refuses jobs, and may be closed twice', async () => {
    const jobs = await rig().open({ roles: idle })
    await Promise.all([jobs.close(), jobs.close()])
    await expect(jobs.enqueue('fetch-activity', [ride(1)])).rejects.toMatchObject({ code: 'queue_closed' })
  })
})
