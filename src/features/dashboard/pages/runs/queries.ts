import type { JobQueue } from '../../../../core/jobs/queues.ts'
import { findAccounts } from '../../../../core/store/account-rows.ts'
import { findRecentRuns } from '../../../../core/store/runs.ts'
import { errorLine } from '../../../../kit/errors.ts'
import type { Sent } from '../../shared/sent.ts'
import type { PagesApp } from '../page-frame.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findRuns>

/** Maximum number of runs on the page: some hours of polls. */
const RUNS_SHOWN = 100

/**
 * Finds the last runs, newest first, and the content of the queues. If the queues cannot be read, returns the runs and, instead of the
 * queues, the reason.
 */
export async function findRuns(
  { store }: Pick<PagesApp, 'store'>,
  readQueues: () => ReturnType<typeof findQueues>,
) {
  const { accounts, runs } = await store.read(async (tx) => ({
    accounts: await findAccounts(tx),
    runs: await findRecentRuns(tx, { limit: RUNS_SHOWN }),
  }))
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]))
  // Catches every error, because an unreachable Redis or Postgres can cause many different errors.
  const read = await readQueues().catch((error) => `the queues cannot be read: ${errorLine(error)}`)
  return {
    accounts: accounts.length,
    runs: runs.map((run) => ({ ...run, account: names.get(run.accountId ?? 0) ?? null })),
    queues: typeof read === 'string' ? [] : read,
    queue_problem: typeof read === 'string' ? read : null,
  }
}

/** Maximum number of jobs in a table of the page; the counts cover all jobs. */
const JOBS_SHOWN = 50
const COUNTED = ['waiting', 'prioritized', 'active', 'delayed', 'failed', 'completed'] as const

/** Finds the content of the queues: counts, running and failed jobs, and the next run of each schedule. */
export async function findQueues({ store }: Pick<PagesApp, 'store'>, queues: readonly JobQueue[]) {
  const accounts = await store.read(findAccounts)
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]))
  return Promise.all(queues.map((queue) => readQueue(queue, names)))
}

async function readQueue(queue: JobQueue, names: ReadonlyMap<number, string>) {
  // Reads the running jobs first, so that a job that fails meanwhile is in both lists instead of neither.
  const active = await queue.getJobs(['active'], 0, JOBS_SHOWN - 1)
  const [counts, failed, schedules] = await Promise.all([
    queue.getJobCounts(...COUNTED),
    queue.getJobs(['failed'], 0, JOBS_SHOWN - 1),
    queue.getJobSchedulers(0, -1, true),
  ])
  // A schedule's job contains the name and payload of the job that it enqueues; the page shows these.
  const aboutOf = (job: string, data: unknown) => {
    const { name, payload = data } = (data ?? {}) as { name?: string; payload?: unknown }
    const { accountId, activityId } = (payload ?? {}) as { accountId?: number; activityId?: number }
    return { job: name ?? job, account: names.get(accountId ?? 0) ?? null, activity_id: activityId ?? null }
  }
  return {
    name: queue.name,
    /** waiting jobs, including those with a priority */
    waiting: (counts.waiting ?? 0) + (counts.prioritized ?? 0),
    active: counts.active ?? 0,
    /** jobs that wait for a retry or for their scheduled time */
    delayed: counts.delayed ?? 0,
    failed: counts.failed ?? 0,
    /** jobs done in the last hour, at most 200 */
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
