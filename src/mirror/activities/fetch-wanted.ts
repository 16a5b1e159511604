import { setMaxListeners } from 'node:events'
import { formatDuration, SECOND } from '../../kit/durations.ts'
import {
  CredentialsRejectedError,
  errorLine,
  isAbort,
  RateLimitedError,
  TransientError,
} from '../../kit/errors.ts'
import type { Account } from '../../store/accounts.ts'
import { countByState } from '../../store/activities/counts.ts'
import { findWanted, type WantedActivity } from '../../store/activities/wanted.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'
import { withRun } from '../run.ts'
import { fetchActivity } from './fetch.ts'
import { RESOURCE } from './poll.ts'

export type Progress = { done: number; total: number; failed: number }

export type FetchCounts = { fetched: number; unchanged: number; failed: number }

export type FetchWantedInput = {
  account: Account
  concurrency: number
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
}

/** How many wanted activities are read from the table at once. */
const BATCH = 500
/** So many items in a row that fail in passing are an outage and not those items' own trouble. */
const OUTAGE_AFTER = 5
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
  const tally = { fetched: 0, unchanged: 0, failed: 0 }
  const seen = new Set<number>()
  let due = await findDue(deps, accountId, seen)
  if (due.length === 0) return tally
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const total = Math.max(states.wanted, due.length)
  const say = makeProgressLog(deps, input.account)
  return withRun(deps.store, { accountId, resource: RESOURCE, kind: 'fetch' }, async (run) => {
    for (; due.length > 0; due = await findDue(deps, accountId, seen)) {
      for (const activity of due) seen.add(activity.activityId)
      await fetchAll(deps, options, input, due, (result) => {
        tally[result]++
        run.fetched = tally.fetched
        run.failed = tally.failed
        const done = tally.fetched + tally.unchanged + tally.failed
        const progress = { done, total: Math.max(total, done), failed: tally.failed }
        say(progress)
        input.onProgress?.(progress)
      })
    }
    await deps.upkeep.rest()
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

async function fetchAll(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: FetchWantedInput,
  activities: readonly WantedActivity[],
  count: (result: keyof FetchCounts) => void,
): Promise<void> {
  const queue = activities.values()
  const halt = new AbortController()
  const signal = input.signal ? AbortSignal.any([input.signal, halt.signal]) : halt.signal
  setMaxListeners(0, signal)
  let failedInARow = 0
  const worker = async () => {
    for (const activity of queue) {
      signal.throwIfAborted()
      try {
        const result = await patiently(deps, () =>
          fetchActivity(deps, options, { account: input.account, activity, signal }),
        )
        failedInARow = 0
        count(result === 'unchanged' ? 'unchanged' : 'fetched')
      } catch (error) {
        if (isAbort(error, signal) || error instanceof CredentialsRejectedError) throw error
        if (error instanceof TransientError && ++failedInARow >= OUTAGE_AFTER) throw error
        count('failed')
        deps.log.error({ path: activity.path, reason: errorLine(error) }, 'activity failed')
      }
    }
  }
  const workers = Array.from({ length: input.concurrency }, async () => {
    try {
      await worker()
    } catch (error) {
      halt.abort(error)
      throw error
    }
  })
  const ends = await Promise.allSettled(workers)
  input.signal?.throwIfAborted()
  if (halt.signal.aborted) throw halt.signal.reason
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Does `work` again after a rate limit, which is no failure: the service's pacer waits as told before it lets a call through. */
export async function patiently<T>(deps: Pick<MirrorDeps, 'log'>, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error
      deps.log.warn({ waitMs: error.retryAfterMs }, 'the service asks to wait')
    }
  }
}
