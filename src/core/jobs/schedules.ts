import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import { z } from 'zod'
import { eachAtOnce } from '../../kit/semaphore.ts'
import { DAY, SECOND, within } from '../../kit/time.ts'
import { type BackendChoice, hasQueueTables, makeBackend } from './backend.ts'
import { type Catalog, jobKeyOf, parsePayload } from './catalog.ts'
import { enqueueJobs, fetchCounts, fetchPaused, type JobQueue, makeQueues, type Queues } from './queues.ts'
import { CONNECTION_MS, fetchRedisFacts } from './redis.ts'

/** Number of schedules that are written concurrently. With this number, a thousand accounts take a second or two, and the pool is not exhausted. */
const AT_ONCE = 4

/** Number of schedules per page, because BullMQ queries a page's schedules concurrently and the pool has ten connections. */
const PAGE = 1_000
/** Overlap of two pages: a schedule that runs during paging moves to the end and shifts the others. */
const OVERLAP = 100

/**
 * Updates the schedules of the queue for the ids of all accounts: writes missing, changed, silent and lost schedules, and removes the
 * schedules of deleted accounts. The job of a missing schedule runs at once, before the schedule is written. A job whose schedule has
 * `atStart` runs at once too.
 */
export async function reconcileSchedules(
  deps: { log: Logger; queues: Queues; catalog: Catalog },
  { accounts, atStart }: { accounts: readonly number[]; atStart: boolean },
) {
  const { catalog, queues } = deps
  const queue = queues.polls
  const { wanted, verdicts, gone } = await compareSchedules(deps, accounts)
  const runNow = new Map<string, unknown[]>()
  for (const { id, name, payload } of wanted) {
    if (verdicts.get(id) === 'missing' || (atStart && catalog[name]?.schedule?.atStart))
      runNow.set(name, [...(runNow.get(name) ?? []), payload])
  }
  for (const [name, payloads] of runNow) await enqueueJobs({ queues, catalog }, { name, payloads })
  await eachAtOnce(wanted, AT_ONCE, async (schedule) => {
    const verdict = verdicts.get(schedule.id)
    if (verdict === 'silent') await queue.removeJobScheduler(schedule.id)
    if (verdict) await upsertSchedule(queue, schedule)
  })
  await eachAtOnce(gone, AT_ONCE, async (id) => void (await queue.removeJobScheduler(id)))

  const counts = { made: verdicts.size, removed: gone.length }
  if (counts.made + counts.removed > 0) deps.log.info(counts, 'jobs: updated the schedules')
}

/** Fetches the schedules in the queue, by id. Throws the backend's errors. */
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

/** Fetches verdicts on schedules that are not fine, by id, and ids of schedules to remove. Throws the backend's errors. */
async function compareSchedules(
  { queues, catalog }: { queues: Queues; catalog: Catalog },
  accounts: readonly number[],
) {
  const found = await fetchSchedules(queues.polls)
  const wanted = wantedSchedules(accounts, catalog)
  const now = Date.now()
  const verdicts = new Map<string, Verdict>()
  await eachAtOnce(wanted, AT_ONCE, async (schedule) => {
    const { id } = schedule
    const verdict = verdictOn(found.get(id), schedule, now)
    if (verdict === 'fine') return
    // A schedule is only late, not lost, if its job exists: all workers are busy.
    const isLate = verdict === 'overdue'
    if (isLate && (await queues.polls.getJob(`repeat:${id}:${found.get(id)?.nextAt}`))) return
    verdicts.set(id, isLate ? 'missing' : verdict)
  })
  const ids = new Set(wanted.map(({ id }) => id))
  return { wanted, verdicts, gone: [...found.keys()].filter((id) => !ids.has(id)) }
}

async function upsertSchedule(queue: JobQueue, schedule: WantedSchedule): Promise<void> {
  await queue.upsertJobScheduler(
    schedule.id,
    { every: schedule.everyMs, offset: schedule.offset },
    {
      name: DUE_JOB,
      data: { name: schedule.name, payload: schedule.payload },
      opts: {
        attempts: 2,
        backoff: { type: 'fixed', delay: 1 * SECOND },
        // A finished job would block a schedule that is written again, because BullMQ names these jobs by time.
        removeOnComplete: true,
        removeOnFail: { age: DAY / SECOND, count: 100 },
        stackTraceLimit: 1,
      },
    },
  )
}

/** A wanted schedule. `offset` is its position within the interval; `everyMs` and `offset` are integers in ms. */
type WantedSchedule = Readonly<ReturnType<typeof wantedSchedules>[number]>

/** Returns every schedule that must exist: one schedule per account and scheduled job, and the schedules without an account. Pure. */
export function wantedSchedules(accountIds: readonly number[], catalog: Catalog) {
  return Object.entries(catalog).flatMap(([name, job]) => {
    const { everyMs: interval, per } = job.schedule ?? {}
    if (interval === undefined) return []
    const everyMs = Math.round(interval)
    const payloads = per === 'account' ? accountIds.map((accountId) => ({ accountId })) : [{}]
    return payloads.map((payload) => {
      const id = jobKeyOf(name, job, payload)
      return { id, name, payload, everyMs, offset: phaseOf(id, everyMs) }
    })
  })
}

/**
 * Computes the offset of a schedule within its interval from a hash of its id, 1 to `everyMs` - 1 ms. So accounts are spread evenly and
 * each keeps its offset. Never 0, which BullMQ takes as "no offset: run at once".
 */
export function phaseOf(id: string, everyMs: number): number {
  const share = createHash('sha256').update(id).digest().readUInt32BE() / 2 ** 32
  return 1 + Math.floor(share * (everyMs - 1))
}

/** A schedule in BullMQ. `nextAt`: its next run, ms since 1970. */
type FoundSchedule = Readonly<{
  everyMs: number | undefined
  offset: number | undefined
  nextAt: number | undefined
}>

/**
 * The state of a schedule. `missing`: it was never written, or the queue was emptied. `changed`: it has another interval. `silent`: its
 * next run is more than two intervals ahead, as after a clock that jumped forward and back. `overdue`: its run is more than an interval
 * late, because all workers are busy or its job was lost.
 */
type Verdict = 'fine' | 'missing' | 'changed' | 'silent' | 'overdue'

/** Compares an existing schedule with the wanted one. `now` is in ms since 1970. Pure. */
export function verdictOn(found: FoundSchedule | undefined, wanted: WantedSchedule, now: number): Verdict {
  if (!found) return 'missing'
  if (found.everyMs !== wanted.everyMs || found.offset !== wanted.offset) return 'changed'
  const { nextAt = Number.POSITIVE_INFINITY } = found
  if (nextAt > now + 2 * wanted.everyMs) return 'silent'
  if (nextAt < now - wanted.everyMs) return 'overdue'
  return 'fine'
}

/**
 * Name of the job that a schedule adds. It only enqueues the real job, which is deduplicated. BullMQ does not deduplicate scheduled jobs, so
 * otherwise a slow poll and the next poll would run at the same time.
 */
export const DUE_JOB = 'due'

const due = z.object({ name: z.string(), payload: z.unknown() })

/** Enqueues the job that a `due` job names, unless it is already waiting or running. Throws as enqueueJobs does. */
export async function enqueueDue(deps: { queues: Queues; catalog: Catalog }, data: unknown): Promise<void> {
  const { name, payload } = parsePayload(due, data)
  await enqueueJobs(deps, { name, payloads: [payload] })
}

/** Jobs by queue and state, the paused queues, the number of wanted schedules, and the ids of wrong schedules. */
export type QueueFacts = NonNullable<Awaited<ReturnType<typeof inspectQueue>>>

/** Fetches facts about the queue without changing it, even if no daemon runs. Undefined if no daemon has made a queue in this Postgres yet. */
export async function inspectQueue(input: {
  backend: BackendChoice
  accounts: readonly number[]
  catalog: Catalog
}) {
  const { backend: choice, accounts, catalog } = input
  // Unlike a queue, which waits for Redis forever, this request fails at once.
  const nodes = choice.kind === 'redis' ? await fetchRedisFacts(choice.url) : []
  if (choice.kind === 'postgres' && !(await hasQueueTables(choice.url))) return undefined
  const backend = makeBackend(choice, nodes)
  const queues = makeQueues({ backend, onError: () => undefined })
  try {
    await Promise.all(Object.values(queues).map((queue) => queue.waitUntilReady()))
    const counts = await fetchCounts({ queues })
    const paused = await fetchPaused({ queues })
    const { wanted, verdicts } = await compareSchedules({ queues, catalog }, accounts)
    return { counts, paused, schedules: { wanted: wanted.length, wrong: [...verdicts.keys()] } }
  } finally {
    for (const queue of Object.values(queues)) await within(queue.close(), CONNECTION_MS)
    await backend.close()
  }
}
