import type { JobQueue } from '../../../../core/jobs/queues.ts'
import { findAccounts } from '../../../../core/store/account-rows.ts'
import { findRecentRuns } from '../../../../core/store/runs.ts'
import { errorLine } from '../../../../kit/errors.ts'
import type { Sent } from '../../shared/sent.ts'
import type { PagesApp } from '../page-frame.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findRuns>

/** Some hours of polls. */
const RUNS_SHOWN = 100

/** Finds the last runs, newest first, and the content of the queues; the runs also while the queues cannot be read. */
export async function findRuns(
  { store }: Pick<PagesApp, 'store'>,
  readQueues: () => ReturnType<typeof findQueues>,
) {
  const { accounts, runs } = await store.read(async (tx) => ({
    accounts: await findAccounts(tx),
    runs: await findRecentRuns(tx, { limit: RUNS_SHOWN }),
  }))
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]))
  // Redis and Postgres have many kinds of errors while unreachable.
  const read = await readQueues().catch((error) => `the queues cannot be read: ${errorLine(error)}`)
  return {
    accounts: accounts.length,
    runs: runs.map((run) => ({ ...run, account: names.get(run.accountId ?? 0) ?? null })),
    queues: typeof read === 'string' ? [] : read,
    queue_problem: typeof read === 'string' ? read : null,
  }
}

/** A readable length of a table; the counts are complete. */
const JOBS_SHOWN = 50
const COUNTED = ['waiting', 'prioritized', 'active', 'delayed', 'failed', 'completed'] as const

/** Finds the content of the queues: counts, running and failed jobs, and the next run of each schedule. */
export async function findQueues({ store }: Pick<PagesApp, 'store'>, queues: readonly JobQueue[]) {
  const accounts = await store.read(findAccounts)
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]))
  return Promise.all(queues.map((queue) => readQueue(queue, names)))
}

async function readQueue(queue: JobQueue, names: ReadonlyMap<number, string>) {
  // The running jobs are read first: one that fails meanwhile is in both lists, not in none.
  const active = await queue.getJobs(['active'], 0, JOBS_SHOWN - 1)
  const [counts, failed, schedules] = await Promise.all([
    queue.getJobCounts(...COUNTED),
    queue.getJobs(['failed'], 0, JOBS_SHOWN - 1),
    queue.getJobSchedulers(0, -1, true),
  ])
  // A scheduled job contains the name and payload of the job that it enqueues, which the page shows.
  const aboutOf = (job: string, data: unknown) => {
    const { name, payload = data } = (data ?? {}) as { name?: string; payload?: unknown }
    const { accountId, activityId } = (payload ?? {}) as { accountId?: number; activityId?: number }
    return { job: name ?? job, account: names.get(accountId ?? 0) ?? null, activity_id: activityId ?? null }
  }
  return {
    name: queue.name,
    /** includes jobs with a priority */
    waiting: (counts.waiting ?? 0) + (counts.prioritized ?? 0),
    active: counts.active ?? 0,
    /** before the next attempt, and until their time */
    delayed: counts.delayed ?? 0,
    failed: counts.failed ?? 0,
    /** in the last hour, of the newest 200 */
    completed: counts.completed ?? 0,
    jobs: [...new Map([...active, ...failed].map((job) => [job.id, job])).values()].map((job) => ({
      id: job.id ?? '',
      ...aboutOf(job.name, job.data),
      attempts: job.attemptsMade,
      at: dateOf(job.finishedOn ?? job.processedOn),
      has_failed: job.failedReason !== undefined && job.finishedOn !== undefined,
      reason: job.failedReason ?? null,
    })),
    schedules: schedules.map(({ key, name, every, next, template }) => ({
      key,
      ...aboutOf(name, template?.data),
      every_s: every === undefined ? null : Number(every) / 1_000,
      next_at: dateOf(next),
    })),
  }
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms)
}
