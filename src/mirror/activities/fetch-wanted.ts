import { formatDuration, SECOND } from '../../kit/durations.ts'
import { errorLine } from '../../kit/errors.ts'
import type { Account } from '../../store/accounts.ts'
import { countByState } from '../../store/activities/counts.ts'
import { findWanted, type WantedActivity } from '../../store/activities/wanted.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'
import { withRun } from '../run.ts'
import { type FetchCounts, type FetchResult, fetchAll } from './fetch-all.ts'
import { RESOURCE } from './poll.ts'

export type Progress = { done: number; total: number; failed: number }

export type FetchWantedInput = {
  account: Account
  concurrency: number
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
}

/** How many wanted activities are read from the table at once. */
const BATCH = 500
/** How often a long pass says in the log how far it is. */
const SAY_EVERY_MS = 30 * SECOND

/**
 * Fetches every wanted activity that is due, newest first, `concurrency` at a time; its counts are in `sync_runs` too.
 * One bad item is counted and named in the log, and the rest goes on; an outage ends it with the TransientError.
 */
export async function fetchWanted(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: FetchWantedInput,
): Promise<FetchCounts> {
  const { accountId } = input.account
  const tally: FetchCounts = { fetched: 0, unchanged: 0, failed: 0 }
  const seen = new Set<number>()
  let due = await findDue(deps, accountId, seen)
  if (due.length === 0) return tally
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const total = Math.max(states.wanted, due.length)
  const say = makeProgressLog(deps, input.account)
  return withRun(deps.store, { accountId, resource: RESOURCE, kind: 'fetch' }, async (run) => {
    for (; due.length > 0; due = await findDue(deps, accountId, seen)) {
      for (const activity of due) seen.add(activity.activityId)
      const count = (result: FetchResult, error?: unknown) => {
        tally[result]++
        if (error !== undefined) tally.reason ??= errorLine(error)
        run.fetched = tally.fetched
        run.failed = tally.failed
        const done = tally.fetched + tally.unchanged + tally.failed
        const progress = { done, total: Math.max(total, done), failed: tally.failed }
        say(progress)
        input.onProgress?.(progress)
      }
      await fetchAll(deps, options, { ...input, activities: due, count })
    }
    return tally
  })
}

function makeProgressLog(deps: MirrorDeps, account: Account): (progress: Progress) => void {
  const startedAt = deps.now().getTime()
  let saidAt = startedAt
  return ({ done, total, failed }) => {
    const now = deps.now().getTime()
    if (now - saidAt < SAY_EVERY_MS) return
    saidAt = now
    const toGo = formatDuration(((now - startedAt) / done) * (total - done))
    deps.log.info({ account: account.name, done, total, failed, toGo }, 'fetching activities')
  }
}

async function findDue(
  deps: MirrorDeps,
  accountId: number,
  seen: ReadonlySet<number>,
): Promise<WantedActivity[]> {
  // What this pass has tried stays out, so the batch is read past it.
  const limit = BATCH + seen.size
  const wanted = await deps.store.read((tx) => findWanted(tx, { accountId, limit, now: deps.now() }))
  return wanted.filter((activity) => !seen.has(activity.activityId))
}
