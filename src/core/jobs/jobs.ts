import type { Logger } from 'pino'
import { errorCode, errorLine, TransientError } from '../../kit/errors.ts'
import { RETIRED } from '../../kit/postgres-client.ts'
import { makeReleaseStack, type ReleaseStack } from '../../kit/release-stack.ts'
import { type Backoff, type Clock, MINUTE, SECOND, sleep, systemClock, within } from '../../kit/time.ts'
import { asQueueError, type BackendChoice, openBackend } from './backend.ts'
import { type Catalog, type Handlers, QUEUE_NAMES } from './catalog.ts'
import {
  type Enqueue,
  enqueueJobs,
  fetchCounts,
  fetchPaused,
  type JobQueue,
  makeQueues,
  resumeQueues,
} from './queues.ts'
import { CONNECTION_MS } from './redis.ts'
import { reconcileSchedules } from './schedules.ts'
import { closeOrDisconnect, openWorker } from './worker.ts'

/** Lifetime of a worker's lock on a job, ms, and the longest time until the job of a killed worker is noticed. The worker renews the lock after half of this time. */
const LOCK_MS = 30 * SECOND
/** Interval of the check for stalled jobs, ms. With LOCK_MS, the job of a killed worker runs again within a minute. */
const STALLED_EVERY_MS = 15 * SECOND
/** Number of concurrent jobs of the `polls` queue, because one account's long list must not delay the refresh of another account's token. */
const POLLS_CONCURRENCY = 4
/** How often schedules are compared with the accounts, ms. A comparison sends a query per schedule. */
const HEARTBEAT_MS = 5 * MINUTE
/** How long a stopping daemon waits for running jobs, ms. Most orchestrators kill a container after 30 s. */
const CLOSE_GRACE_MS = 15 * SECOND

type JobsDeps = Readonly<{
  log: Logger
  handlers: Handlers
  /** Aborts when the daemon stops: running jobs are aborted at once and no further job starts. */
  signal: AbortSignal
  /** Returns the ids of all accounts, which have schedules. */
  accounts: () => Promise<number[]>
}>

export type JobsOptions = Readonly<{
  backend: BackendChoice
  roles: Readonly<{ worker: boolean }>
  catalog: Catalog
  concurrency: number
  /** The options below are for tests, in ms. Their defaults are the constants above. */
  lockMs?: number
  stalledMs?: number
  heartbeatMs?: number
  closeGraceMs?: number
  backoff?: Backoff
}>

/** The queues and workers of a process. `close` stops them. */
export type Jobs = Awaited<ReturnType<typeof openParts>>

/** Opens the queues and, for the worker role, the workers, which start at `work`. Throws TransientError `queue_unreachable`. */
export async function openJobs(deps: JobsDeps, options: JobsOptions): Promise<Jobs> {
  const { log } = deps
  const opened = makeReleaseStack((step, error) =>
    log.warn({ step, err: error }, 'jobs: a step of closing failed'),
  )
  try {
    return await openParts(deps, options, opened)
  } catch (error) {
    await opened.release().catch(() => undefined) // report the first error
    throw asQueueError(error)
  }
}

async function openParts(deps: JobsDeps, options: JobsOptions, opened: ReleaseStack) {
  const { log, signal } = deps
  const { catalog, lockMs = LOCK_MS, stalledMs = STALLED_EVERY_MS, backoff } = options
  let heartbeat: ReturnType<typeof startHeartbeat> | undefined
  const tally = makeErrorTally({ log, clock: systemClock, onFirst: () => heartbeat?.wake() })

  const backend = await openBackend({ log }, options.backend)
  opened.defer('connections', backend.close)
  let closed = false
  opened.defer('errors', () => {
    closed = true
  })
  // Once queues and workers are closed, errors come from closing connections.
  const onError = (where: string, error: unknown) => {
    if (!closed && errorCode(error) !== RETIRED) tally.record(where, error)
  }

  const queues = makeQueues({ backend, onError })
  for (const name of QUEUE_NAMES) {
    opened.defer(`queue ${name}`, () => closeOrDisconnect(queues[name]))
    await queues[name].waitUntilReady()
  }

  let runsAll = (await queues.polls.getWorkers()).length === 0
  const workers: Array<Awaited<ReturnType<typeof openWorker>>> = []
  if (options.roles.worker) {
    for (const queue of QUEUE_NAMES) {
      const concurrency = queue === 'polls' ? POLLS_CONCURRENCY : options.concurrency
      const worker = await openWorker(
        { log, catalog, handlers: deps.handlers, queues, backend, onError },
        { queue, concurrency, lockMs, stalledMs, backoff },
      )
      workers.push(worker)
    }
    opened.defer('workers', () =>
      Promise.all(workers.map((worker) => worker.close(options.closeGraceMs ?? CLOSE_GRACE_MS))),
    )
  }
  const halt = () => {
    for (const worker of workers) worker.halt()
  }
  signal.addEventListener('abort', halt, { once: true })
  opened.defer('signal', () => signal.removeEventListener('abort', halt))

  const reconcile = async (atStart: boolean) =>
    reconcileSchedules({ log, queues, catalog }, { accounts: await deps.accounts(), atStart })
  let keepsSchedules = false
  const checkWrites = () => Promise.all(QUEUE_NAMES.map((name) => backend.checkWrites?.(queues[name])))
  const beat = async () => {
    await checkWrites()
    await resumeQueues({ queues, log })
    if (keepsSchedules) await reconcile(false)
  }
  heartbeat = startHeartbeat({ tally, beat }, { everyMs: options.heartbeatMs ?? HEARTBEAT_MS })
  queues.polls.getBackend().on('ready', heartbeat.wake) // Redis is back and may be empty
  opened.defer('heartbeat', () => within(heartbeat?.stop() ?? Promise.resolve(), CONNECTION_MS))

  await resumeQueues({ queues, log })

  let closing: Promise<void> | undefined
  // On Postgres, BullMQ never answers a call after closing.
  const assertOpen = () => {
    if (closing)
      throw new TransientError('queue_closed', 'the queue is closed because the daemon is stopping')
  }
  const enqueue: Enqueue = async (name, payloads, input) => {
    assertOpen()
    return await enqueueJobs({ queues, catalog }, { name, payloads, priority: input?.priority })
  }
  return {
    /** Starts the workers. Before this call they take no jobs. */
    work: () => {
      if (closing || signal.aborted) return
      for (const worker of workers) worker.run()
    },
    /** Adds jobs in bulk and returns how many are new, see enqueueJobs. Throws TransientError `queue_closed` after `close`. */
    enqueue,
    counts: async () => {
      assertOpen()
      await checkWrites()
      return await fetchCounts({ queues })
    },
    /** Fetches the names of the paused queues; each is resumed within five minutes. */
    paused: async () => {
      assertOpen()
      return await fetchPaused({ queues })
    },
    /**
     * Updates the schedules now and every five minutes until `close`. Several processes may do so. If no other process had a worker when this
     * process started, the first call also runs every scheduled job once.
     */
    keepSchedules: async () => {
      assertOpen()
      await reconcile(runsAll).catch((error) => {
        throw asQueueError(error)
      })
      runsAll = false
      keepsSchedules = true
    },
    queues: (): readonly JobQueue[] => QUEUE_NAMES.map((name) => queues[name]),
    /** Stops schedules, workers (for a limited time), queues and connections, in this order. May be called twice. */
    close: (): Promise<void> => {
      closing ??= opened.release()
      return closing
    },
  }
}

/** Pause between two heartbeats while the queue is failing, ms. */
const FAILING_EVERY_MS = 2 * SECOND
/** How long an error must not recur to be over, ms. */
const OVER_AFTER_MS = 10 * SECOND

/** Calls `beat` every `everyMs`, and more often while the queue is failing. A failed beat is recorded, never thrown. */
function startHeartbeat(
  { tally, beat }: { tally: ErrorTally; beat: () => Promise<void> },
  { everyMs }: { everyMs: number },
) {
  const stopped = new AbortController()
  let pause = new AbortController()
  const beating = (async () => {
    while (!stopped.signal.aborted) {
      const ms = tally.failing() ? Math.min(FAILING_EVERY_MS, everyMs) : everyMs
      pause = new AbortController()
      await sleep(ms, pause.signal).catch(() => undefined)
      if (stopped.signal.aborted) return
      try {
        await beat()
        tally.settle()
      } catch (error) {
        tally.record('heartbeat', error)
      }
    }
  })()
  return {
    /** Ends the current pause, because a connection is back or an error was recorded. */
    wake: () => pause.abort(),
    /** Stops when the current beat has ended. */
    stop: async () => {
      stopped.abort()
      pause.abort()
      await beating
    },
  }
}

type ErrorTally = ReturnType<typeof makeErrorTally>

/** Makes a tally of errors of queue connections. `onFirst` is called for the first error after a time without errors. */
export function makeErrorTally(deps: { log: Logger; clock: Clock; onFirst: () => void }) {
  const seen = new Map<string, { where: string; times: number; lastAt: number }>()
  return {
    /** Logs an error once and counts its repetitions. */
    record(where: string, cause: unknown): void {
      const error = asQueueError(cause)
      const code = error instanceof Error ? `${error.name} ${errorCode(error)}` : 'unexpected'
      const now = deps.clock().getTime()
      const known = seen.get(code)
      seen.set(code, { where: known?.where ?? where, times: 1 + (known?.times ?? 0), lastAt: now })
      if (known) return
      deps.log.warn({ where, code: errorCode(error), error: errorLine(error) }, 'jobs: queue error')
      if (seen.size === 1) deps.onFirst()
    },
    failing: () => seen.size > 0,
    /** Logs how often each error that is over occurred, and forgets it. To be called after a success. */
    settle(): void {
      const now = deps.clock().getTime()
      for (const [code, { where, times, lastAt }] of seen) {
        if (now - lastAt < OVER_AFTER_MS) continue
        seen.delete(code)
        if (times > 1) deps.log.info({ where, code, times }, 'jobs: queue error is over')
      }
    },
  }
}
