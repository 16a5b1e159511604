import { setMaxListeners } from 'node:events'
import { type Job, Worker } from 'bullmq'
import { type Backoff, backoffMs, within } from '../kit/time.ts'
import type { Backend } from './backend.ts'
import { CATALOG, isJobName, type QueueName } from './catalog.ts'
import { CONNECTION_MS, GOODBYE_MS, MAX_CRASHES, MAX_STARTS, RUN_RETRY_MS } from './limits.ts'
import { type ProcessorDeps, workOnJob } from './processor.ts'
import { PREFIX } from './queues.ts'

type WorkerInput = Readonly<{
  queue: QueueName
  concurrency: number
  lockMs: number
  stalledMs: number
  /** Instead of the catalog's, where a test cannot wait that long. */
  backoff?: Backoff | undefined
}>

export type JobWorker = Readonly<{
  run(): void
  /** Takes no further job and aborts the ones that run. Harmless when repeated. */
  halt(): void
  /** Waits for running jobs at most `graceMs`, then closes; jobs that still run are left to be found as abandoned. */
  close(graceMs: number): Promise<void>
}>

/** Opens the worker of one queue; it takes no job before `run`. Throws the backend's errors when it is not reached. */
export async function openWorker(
  deps: ProcessorDeps & { backend: Backend; onError: (where: string, error: unknown) => void },
  input: WorkerInput,
): Promise<JobWorker> {
  const running = new Set<AbortController>()
  const halted = new AbortController()
  let onIdle: () => void = () => undefined

  const process = async (job: Job, token?: string, bullSignal?: AbortSignal): Promise<void> => {
    const controller = new AbortController()
    // One job may have many requests under way, and each listens; Node warns of a leak at eleven.
    setMaxListeners(0, controller.signal)
    const abort = () => controller.abort(new DOMException('jobs: the worker is stopping', 'AbortError'))
    running.add(controller)
    bullSignal?.addEventListener('abort', abort, { once: true })
    halted.signal.addEventListener('abort', abort, { once: true })
    if (halted.signal.aborted) abort()
    try {
      await workOnJob(deps, { job, token: token ?? '', signal: controller.signal })
    } finally {
      bullSignal?.removeEventListener('abort', abort)
      halted.signal.removeEventListener('abort', abort)
      running.delete(controller)
      if (running.size === 0) onIdle()
    }
  }

  const worker = new Worker(
    input.queue,
    (job: Job, token?: string, signal?: AbortSignal) => process(job, token, signal),
    {
      connection: {}, // inside the factory
      prefix: PREFIX,
      autorun: false,
      concurrency: input.concurrency,
      lockDuration: input.lockMs,
      stalledInterval: input.stalledMs,
      maxStalledCount: MAX_CRASHES,
      maxStartedAttempts: MAX_STARTS,
      runRetryDelay: RUN_RETRY_MS,
      settings: {
        backoffStrategy: (attempts, _type, _error, job) =>
          backoffMs(input.backoff ?? backoffOf(job?.name ?? ''), attempts),
      },
    },
    deps.backend.factory,
  )
  worker.on('error', (error) => deps.onError(`worker ${input.queue}`, error))
  worker.on('lockRenewalFailed', (ids) => {
    // Somebody else has these jobs, or the queue was emptied: going on would do the work twice.
    for (const id of ids) worker.cancelJob(id)
  })
  await worker.waitUntilReady()

  const halt = () => {
    if (halted.signal.aborted) return
    void worker.pause(true).catch((error: unknown) => deps.onError(`worker ${input.queue}`, error))
    halted.abort()
  }
  return {
    run: () => {
      void worker.run().catch((error: unknown) => deps.onError(`worker ${input.queue}`, error))
    },
    halt,
    close: async (graceMs) => {
      halt()
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve
        if (running.size === 0) resolve()
      })
      const finished = await within(idle, graceMs)
      if (!finished) {
        deps.log.warn({ queue: input.queue, running: running.size }, 'jobs: closing with jobs still running')
        await within(worker.getBackend().disconnectBlocking(true), CONNECTION_MS)
      }
      await closeOrCut({ close: () => worker.close(!finished), disconnect: () => worker.disconnect() })
    },
  }
}

function backoffOf(name: string): Backoff {
  return isJobName(name) ? CATALOG[name].backoff : CATALOG.sweep.backoff
}

/**
 * Closes a queue or worker, and cuts its connections when it cannot close: a server that is gone hears no goodbye, and a
 * connection that is left open goes on calling for it and keeps the process alive. Never throws.
 */
export async function closeOrCut(part: {
  close(): Promise<unknown>
  disconnect(): Promise<unknown>
}): Promise<void> {
  const closed = await within(part.close(), GOODBYE_MS).catch(() => false)
  if (!closed) await within(part.disconnect(), GOODBYE_MS).catch(() => undefined)
}
