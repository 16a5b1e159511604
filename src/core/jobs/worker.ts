import { DelayedError, type Job, Worker } from 'bullmq'
import type { Logger } from 'pino'
import {
  errorCode,
  errorLine,
  isAbort,
  isServiceDown,
  RateLimitedError,
  RejectedError,
} from '../../kit/errors.ts'
import { shorten } from '../../kit/text.ts'
import { type Backoff, backoffMs, joinSignals, SECOND, within } from '../../kit/time.ts'
import type { Backend } from './backend.ts'
import {
  BACKOFF,
  type Catalog,
  type HandlerResult,
  type Handlers,
  jobOf,
  parsePayload,
  type QueueName,
} from './catalog.ts'
import { isDead, makeFailure, outcomeOf } from './outcome.ts'
import type { Queues } from './queues.ts'
import { CONNECTION_MS } from './redis.ts'
import { DUE_JOB, enqueueDue } from './schedules.ts'

/** Maximum number of process crashes during one job. Repeated deployments cause a few; more than ten are caused by the job. */
const MAX_CRASHES = 10
/**
 * Maximum number of starts of one job for any reason, as a last resort. The end of a rate-limit wait also counts as a start, so a small
 * number would kill healthy jobs on a bad day. Crashes have their own, lower limit.
 */
const MAX_STARTS = 10_000
/** Pause before a worker reconnects after a connection error, ms. It is short, but prevents a busy loop. */
const RUN_RETRY_MS = 1 * SECOND
/** How long a queue or a worker may take to close, and then to disconnect, ms. There are two queues and two workers, and a container has a minute. */
const CLOSE_MS = 3 * SECOND

type WorkerDeps = Readonly<{
  log: Logger
  catalog: Catalog
  handlers: Handlers
  queues: Queues
  backend: Backend
  onError: (where: string, error: unknown) => void
}>

type WorkerInput = Readonly<{
  queue: QueueName
  concurrency: number
  lockMs: number
  stalledMs: number
  /** replaces BACKOFF in tests that cannot wait that long */
  backoff?: Backoff | undefined
}>

/** Opens the worker of one queue. It starts no job before `run`. Throws the backend's errors if it is unreachable. */
export async function openWorker(deps: WorkerDeps, input: WorkerInput) {
  const running = new Set<AbortSignal>()
  const halted = new AbortController()
  let onIdle: () => void = () => undefined

  // BullMQ passes a signal only to a function with three parameters without defaults.
  const runJob = async (job: Job, token: string | undefined, lost: AbortSignal | undefined) => {
    const stop = joinSignals([lost, halted.signal])
    running.add(stop.signal)
    try {
      // Its lock may have expired while the queue or the process was stopped. Then another worker has the job, or finds it stalled.
      const isLate = Date.now() - (job.processedOn ?? 0) > input.lockMs / 2
      if (isLate && !(await job.extendLock(token ?? '', input.lockMs).catch(() => 0)))
        throw new DelayedError()
      await workOnJob(deps, { job, token: token ?? '', signal: stop.signal })
    } finally {
      stop.clear()
      running.delete(stop.signal)
      if (running.size === 0) onIdle()
    }
  }

  const worker = new Worker(
    input.queue,
    runJob,
    {
      connection: {}, // made by the factory
      prefix: deps.backend.prefix,
      autorun: false,
      drainDelay: deps.backend.waitS,
      concurrency: input.concurrency,
      lockDuration: input.lockMs,
      stalledInterval: input.stalledMs,
      maxStalledCount: MAX_CRASHES,
      maxStartedAttempts: MAX_STARTS,
      runRetryDelay: RUN_RETRY_MS,
      settings: { backoffStrategy: (attempts) => backoffMs(input.backoff ?? BACKOFF, attempts) },
    },
    deps.backend.factory,
  )
  const report = (error: unknown) => deps.onError(`worker ${input.queue}`, error)
  worker.on('error', report)
  worker.on('lockRenewalFailed', (ids) => {
    // Another worker has these jobs, or the queue was emptied. Continuing would do the work twice.
    for (const id of ids) worker.cancelJob(id)
  })
  await worker.waitUntilReady()

  const halt = () => {
    if (halted.signal.aborted) return
    void worker.pause(true).catch(report)
    halted.abort(new DOMException('jobs: the worker is stopping', 'AbortError'))
  }
  return {
    run: () => void worker.run().catch(report),
    /** Aborts the running jobs and starts no further jobs. A second call does nothing. */
    halt,
    /** Waits at most `graceMs` for running jobs, then closes. Another worker finds jobs that still run as stalled. */
    close: async (graceMs: number): Promise<void> => {
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
      await closeOrDisconnect({ close: () => worker.close(!finished), disconnect: () => worker.disconnect() })
    },
  }
}

type ClaimedJob = Readonly<{ job: Job; token: string; signal: AbortSignal; log: Logger }>

/**
 * Works on one job that BullMQ handed out: runs its handler, and reports the outcome by throwing BullMQ's errors. `signal` aborts if the
 * daemon stops or another worker got the job.
 */
async function workOnJob(deps: WorkerDeps, input: { job: Job; token: string; signal: AbortSignal }) {
  const { job } = input
  const { accountId } = Object(job.data)
  const named = { job: shorten(job.name, 100), id: job.id, ...(Number.isInteger(accountId) && { accountId }) }
  const claimed: ClaimedJob = { ...input, log: deps.log.child(named) }
  // BullMQ may still hand out a job after the stop, for an earlier request.
  if (input.signal.aborted) throw await putBack(claimed, 0)
  const startedAt = performance.now()
  let result: HandlerResult
  try {
    if (job.name === DUE_JOB) return await enqueueDue(deps, job.data)
    result = await callHandler(deps, claimed)
  } catch (error) {
    throw await judgeFailed(claimed, error)
  }
  const ms = Math.round(performance.now() - startedAt)
  if (result) claimed.log.info({ ms, ...result.counts }, 'jobs: job done')
  else claimed.log.debug({ ms }, 'jobs: job done')
}

async function callHandler(deps: WorkerDeps, { job, signal, log }: ClaimedJob): Promise<HandlerResult> {
  const { payload } = jobOf(deps.catalog, job.name)
  if (job.stalledCounter > MAX_CRASHES) {
    const message = `the process of the worker ended ${job.stalledCounter} times during the job ${job.name}`
    throw new RejectedError('job_poison', message)
  }
  // The schema with this name has checked the payload.
  return await jobOf(deps.handlers, job.name)(parsePayload(payload, job.data) as never, { signal, log })
}

async function judgeFailed(claimed: ClaimedJob, error: unknown): Promise<Error> {
  const { job, signal, log } = claimed
  const outcome = outcomeOf(error)
  const fields = { code: errorCode(error), error: errorLine(error), attempt: job.attemptsMade + 1 }
  if (signal.aborted && (isAbort(error, signal) || outcome.kind === 'retry' || outcome.kind === 'bug')) {
    // The stop caused the failure. The job goes back without losing an attempt, and any worker may take it at once.
    log.debug(fields, 'jobs: job interrupted; it returns to the queue')
    return await putBack(claimed, 0)
  }
  if (outcome.kind === 'wait') {
    // Only this job waits: other accounts may use another service, and the client refuses early requests. The store logs a missing primary
    // once.
    const level = error instanceof RateLimitedError ? 'warn' : 'debug'
    log[level]({ ...fields, waitMs: outcome.waitMs }, 'jobs: job waits without spending an attempt')
    return await putBack(claimed, outcome.waitMs)
  }
  const dead = isDead(outcome, { made: job.attemptsMade, allowed: job.opts.attempts ?? 1 })
  // The client of the service logs an outage once.
  const isDown = isServiceDown(error)
  if (!dead) log[isDown ? 'debug' : 'warn'](fields, 'jobs: job failed and will be retried')
  else if (outcome.kind === 'bug')
    log.error({ ...fields, err: error }, 'jobs: job is dead; this is a defect in musette')
  else
    log[isDown ? 'debug' : 'error'](
      fields,
      `jobs: job is dead${outcome.kind === 'park' ? '; the account is parked' : ''}`,
    )
  return makeFailure(error, dead)
}

/**
 * Gives a job back without spending an attempt, to run again after `pauseMs`. Returns the error that reports this to BullMQ. The job is
 * delayed even without a pause, because `moveToWait` of BullMQ wakes no worker on Redis if the job has a priority.
 */
async function putBack({ job, token }: ClaimedJob, pauseMs: number): Promise<Error> {
  await job.moveToDelayed(Date.now() + pauseMs, token)
  return new DelayedError()
}

/** Closes a queue or a worker. Disconnects it if that takes too long, because it would reconnect and keep the process alive. Never throws. */
export async function closeOrDisconnect(part: {
  close(): Promise<unknown>
  disconnect(): Promise<unknown>
}): Promise<void> {
  const closed = await within(part.close(), CLOSE_MS).catch(() => false)
  if (!closed) await within(part.disconnect(), CLOSE_MS).catch(() => undefined)
}
