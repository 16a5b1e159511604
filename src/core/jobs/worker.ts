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

/** Crashes of the process during one job that are accepted: repeated deployments cause a few, eleven are caused by the job. */
const MAX_CRASHES = 10
/**
 * Starts of one job for any reason. Only the last barrier: waiting for the end of a rate limit counts as a start, too, so a
 * small number would kill healthy jobs on a bad day. Crashes have their own, tighter count.
 */
const MAX_STARTS = 10_000
/** Pause before a worker reconnects after an error of its connection, ms: short, but no busy loop. */
const RUN_RETRY_MS = 1 * SECOND
/** How long a queue or worker may take to close, ms, and then to disconnect: there are four, and a container has a minute. */
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
  /** instead of the catalog's, for tests that cannot wait that long */
  backoff?: Backoff | undefined
}>

/** Opens the worker of one queue; it starts no job before `run`. Throws the backend's errors when it is unreachable. */
export async function openWorker(deps: WorkerDeps, input: WorkerInput) {
  const running = new Set<AbortSignal>()
  const halted = new AbortController()
  let onIdle: () => void = () => undefined

  // BullMQ hands a signal only to a function of three parameters without defaults.
  const runJob = async (job: Job, token: string | undefined, lost: AbortSignal | undefined) => {
    const stop = joinSignals([lost, halted.signal])
    running.add(stop.signal)
    try {
      // Its lock may have ended while the queue or the process stood still; then another worker has it, or finds it as stalled.
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
      connection: {}, // the factory has it
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
    // Another worker has these jobs, or the queue was emptied: going on would do the work twice.
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
    /** Starts no further job and aborts the running ones. A second call does nothing. */
    halt,
    /** Waits for running jobs at most `graceMs`, then closes; jobs that still run are found as stalled by another worker. */
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
 * Works on one job that BullMQ handed out: runs its handler, and reports the outcome to BullMQ by throwing BullMQ's own
 * errors. `signal` aborts when the daemon stops or the job is lost to another worker.
 */
async function workOnJob(deps: WorkerDeps, input: { job: Job; token: string; signal: AbortSignal }) {
  const { job } = input
  const { accountId } = Object(job.data)
  const named = { job: shorten(job.name, 100), id: job.id, ...(Number.isInteger(accountId) && { accountId }) }
  const claimed: ClaimedJob = { ...input, log: deps.log.child(named) }
  // BullMQ may still hand out a job after the stop, for a request from before it.
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
    const message = `the worker ended ${job.stalledCounter} times during the job ${job.name}`
    throw new RejectedError('job_poison', message)
  }
  // The schema of the same name has checked the payload.
  return await jobOf(deps.handlers, job.name)(parsePayload(payload, job.data) as never, { signal, log })
}

async function judgeFailed(claimed: ClaimedJob, error: unknown): Promise<Error> {
  const { job, signal, log } = claimed
  const outcome = outcomeOf(error)
  const fields = { code: errorCode(error), error: errorLine(error), attempt: job.attemptsMade + 1 }
  if (signal.aborted && (isAbort(error, signal) || outcome.kind === 'retry' || outcome.kind === 'bug')) {
    // The stop caused it: the job goes back without losing an attempt, for any worker to take at once.
    log.debug(fields, 'jobs: job interrupted; it goes back to the queue')
    return await putBack(claimed, 0)
  }
  if (outcome.kind === 'wait') {
    // Only this job: another account may use another service. The client refuses early requests to this service.
    // That there is no primary is logged once, by the store.
    const level = error instanceof RateLimitedError ? 'warn' : 'debug'
    log[level]({ ...fields, waitMs: outcome.waitMs }, 'jobs: job waits and spends no attempt')
    return await putBack(claimed, outcome.waitMs)
  }
  const dead = isDead(outcome, { made: job.attemptsMade, allowed: job.opts.attempts ?? 1 })
  // An outage of the service is logged once, by its client.
  const isDown = isServiceDown(error)
  if (!dead) log[isDown ? 'debug' : 'warn'](fields, 'jobs: job failed and will be tried again')
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
 * Gives a job back without spending an attempt, to run again after `pauseMs`; returns the error that reports this to BullMQ.
 * As a delayed job, even without a pause: BullMQ's own `moveToWait` wakes no worker on Redis when the job has a priority.
 */
async function putBack({ job, token }: ClaimedJob, pauseMs: number): Promise<Error> {
  await job.moveToDelayed(Date.now() + pauseMs, token)
  return new DelayedError()
}

/** Closes a queue or worker; disconnects it when that takes long, because it would reconnect and keep the process alive. Never throws. */
export async function closeOrDisconnect(part: {
  close(): Promise<unknown>
  disconnect(): Promise<unknown>
}): Promise<void> {
  const closed = await within(part.close(), CLOSE_MS).catch(() => false)
  if (!closed) await within(part.disconnect(), CLOSE_MS).catch(() => undefined)
}
