import type { Logger } from 'pino'
import type { Clock } from '../../kit/clock.ts'
import { DAY, SECOND } from '../../kit/durations.ts'
import type { JobName, ScheduleName } from '../catalog.ts'
import { enqueueJobs, type JobQueue, type Queues } from '../queues.ts'
import { DUE } from './due.ts'
import { type FoundSchedule, verdictOn } from './verdict.ts'
import { type WantedSchedule, wantedSchedules } from './wanted.ts'

/** Schedules written at once: a thousand accounts take a second or two and the pool is not exhausted. */
const AT_ONCE = 4

/** Schedules read at once: BullMQ asks for each by itself, all at the same moment, and a pool of ten has its patience. */
const PAGE = 1_000
/** A schedule that runs while they are read moves to the end, and the next page begins that much further on. */
const OVERLAP = 100

export type ReconcileDeps = Readonly<{
  log: Logger
  clock: Clock
  queues: Queues
  /** The ids of all accounts: the truth that schedules follow. Its failure changes nothing. */
  accounts: () => Promise<number[]>
}>

/**
 * Makes the queue's schedules equal to the truth: missing, changed, silent and lost ones are made, those of accounts
 * that are gone are removed. What was missing also runs once at once; with `atStart` everything does. Throws the
 * errors of the backend and of `accounts`.
 */
export async function reconcileSchedules(
  deps: ReconcileDeps,
  input: { every: Readonly<Record<ScheduleName, number>>; atStart: boolean },
): Promise<void> {
  const wanted = wantedSchedules(await deps.accounts(), input.every)
  const queue = deps.queues.polls
  const found = await fetchSchedules(queue)
  const now = deps.clock().getTime()
  const counts = { made: 0, removed: 0 }
  const runNow = new Map<JobName, unknown[]>()

  await eachOf(wanted, async (schedule) => {
    const verdict = await settledVerdict(queue, found.get(schedule.id), schedule, now)
    if (input.atStart || verdict === 'missing') {
      runNow.set(schedule.name, [...(runNow.get(schedule.name) ?? []), schedule.payload])
    }
    if (verdict === 'fine') return
    if (verdict === 'silent') await queue.removeJobScheduler(schedule.id)
    await upsertSchedule(queue, schedule)
    counts.made += 1
  })

  const ids = new Set(wanted.map(({ id }) => id))
  const gone = [...found.keys()].filter((id) => !ids.has(id))
  await eachOf(gone, async (id) => {
    await queue.removeJobScheduler(id)
    counts.removed += 1
  })

  for (const [name, payloads] of runNow) await enqueueJobs({ queues: deps.queues }, { name, payloads })
  if (counts.made + counts.removed > 0) deps.log.info(counts, 'jobs: schedules brought up to date')
}

/** Fetches the schedules that the queue has, by id. Throws the backend's errors. */
export async function fetchSchedules(queue: JobQueue): Promise<Map<string, FoundSchedule>> {
  const found = new Map<string, FoundSchedule>()
  const count = await queue.getJobSchedulersCount()
  for (let start = 0; start < count; start += PAGE - OVERLAP) {
    for (const { key, every, offset, next } of await queue.getJobSchedulers(start, start + PAGE - 1, true)) {
      found.set(key, { everyMs: every, offset, nextAt: next ?? undefined })
    }
  }
  return found
}

/** Looks closer at an overdue schedule: while its job exists, workers are merely busy and it is left alone. */
export async function settledVerdict(
  queue: JobQueue,
  found: FoundSchedule | undefined,
  schedule: WantedSchedule,
  now: number,
): Promise<'fine' | 'missing' | 'changed' | 'silent'> {
  const verdict = verdictOn(found, schedule, now)
  if (verdict !== 'overdue') return verdict
  const job = await queue.getJob(`repeat:${schedule.id}:${found?.nextAt}`)
  return job ? 'fine' : 'missing'
}

async function upsertSchedule(queue: JobQueue, schedule: WantedSchedule): Promise<void> {
  await queue.upsertJobScheduler(
    schedule.id,
    { every: schedule.everyMs, offset: schedule.offset },
    {
      name: DUE,
      data: { name: schedule.name, payload: schedule.payload },
      opts: {
        attempts: 2,
        backoff: { type: 'fixed', delay: 1 * SECOND },
        // A finished one must not lie in the way of a schedule made anew: BullMQ names them by their time.
        removeOnComplete: true,
        removeOnFail: { age: DAY / SECOND, count: 100 },
        stackTraceLimit: 1,
      },
    },
  )
}

async function eachOf<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += AT_ONCE) {
    await Promise.all(items.slice(start, start + AT_ONCE).map(action))
  }
}
