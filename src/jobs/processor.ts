import { DelayedError, type Job } from 'bullmq'
import type { Logger } from 'pino'
import { errorCode, errorLine, isAbort, MusetteError, RejectedError } from '../kit/errors.ts'
import { isJobName } from './catalog.ts'
import { type HandlerContext, type HandlerResult, type Handlers, runHandler } from './handlers.ts'
import { MAX_CRASHES, REQUEUE_MS } from './limits.ts'
import { isDead, makeFailure, outcomeOf } from './outcome.ts'
import { DUE, type Ring } from './schedules.ts'

export type ProcessorDeps = Readonly<{ log: Logger; handlers: Handlers; ring: Ring }>

type Taken = Readonly<{ job: Job; token: string; signal: AbortSignal; log: Logger }>

/**
 * Works on one job that BullMQ handed out: runs its handler and turns what comes of it into what BullMQ understands
 * by throwing BullMQ's own errors. `signal` aborts when the daemon stops or the job is lost to another worker.
 */
export async function workOnJob(
  deps: ProcessorDeps,
  input: { job: Job; token: string; signal: AbortSignal },
): Promise<void> {
  const { job } = input
  const taken: Taken = { ...input, log: deps.log.child({ job: job.name, id: job.id }) }
  // A wait for work that began before the stop may still bring a job after it.
  if (input.signal.aborted) throw await putBack(taken, 0)
  const startedAt = performance.now()
  let result: HandlerResult
  try {
    if (job.name === DUE) return await deps.ring(job.data)
    result = await runTaken(deps, taken)
  } catch (error) {
    throw await settleFailure(taken, error)
  }
  const ms = Math.round(performance.now() - startedAt)
  if (result && 'requeue' in result) {
    taken.log.debug({ ms }, 'jobs: job has work left and goes on later')
    throw await putBack(taken, REQUEUE_MS)
  }
  if (result) taken.log.info({ ms, ...result.counts }, 'jobs: job done')
  else taken.log.debug({ ms }, 'jobs: job done')
}

async function runTaken(deps: ProcessorDeps, taken: Taken): Promise<HandlerResult> {
  const { job, signal, log } = taken
  if (!isJobName(job.name)) {
    throw new MusetteError('job_unknown', `jobs: run: no job is called "${job.name}" in this version`)
  }
  if (job.stalledCounter > MAX_CRASHES) {
    throw new RejectedError(
      'job_poison',
      `jobs: run ${job.name}: the worker ended ${job.stalledCounter} times on it`,
    )
  }
  const progress: HandlerContext['progress'] = async (done, total) => {
    await job.updateProgress({ done: Math.round(done), total: Math.round(total) }).catch(() => undefined)
  }
  return await runHandler(deps.handlers, {
    name: job.name,
    payload: job.data,
    context: { signal, log, progress },
  })
}

async function settleFailure(taken: Taken, error: unknown): Promise<Error> {
  const { job, signal, log } = taken
  const outcome = outcomeOf(error)
  const said = { code: errorCode(error), error: errorLine(error), attempt: job.attemptsMade + 1 }
  if (signal.aborted && (isAbort(error, signal) || outcome.kind === 'retry' || outcome.kind === 'bug')) {
    // Not the job's fault: it goes back whole, without losing an attempt, and somebody takes it up at once.
    log.debug(said, 'jobs: job interrupted; it goes back to the queue')
    return await putBack(taken, 0)
  }
  if (outcome.kind === 'wait') {
    // Only this job: another account may be at another service. The client refuses what comes too early for this one.
    log.warn({ ...said, waitMs: outcome.waitMs }, 'jobs: job waits, as the service asked')
    return await putBack(taken, outcome.waitMs)
  }
  const dead = isDead(outcome, { made: job.attemptsMade, allowed: job.opts.attempts ?? 1 })
  if (!dead) log.warn(said, 'jobs: job failed and will be tried again')
  else if (outcome.kind === 'bug')
    log.error({ ...said, err: error }, 'jobs: job is dead; this is a defect in musette')
  else
    log.error(
      said,
      outcome.kind === 'park' ? 'jobs: job is dead; the account is parked' : 'jobs: job is dead',
    )
  return makeFailure(error, dead)
}

/**
 * Gives a job back without spending an attempt, to run again after `pauseMs`; returns the error that tells BullMQ so.
 * As a delayed job, even for no pause: BullMQ's own `moveToWait` wakes no worker on Redis when the job has a priority.
 */
async function putBack({ job, token }: Taken, pauseMs: number): Promise<Error> {
  await job.moveToDelayed(Date.now() + pauseMs, token)
  return new DelayedError()
}
