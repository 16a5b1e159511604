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
import { pollActivities, RESOURCE } from './poll.ts'

export type PassCounts = {
  listed: number
  fetched: number
  unchanged: number
  absent: number
  failed: number
  /** known changes that are not mirrored yet: samples the service has not made, or a pause after a failure */
  pending: number
}

export type Progress = { done: number; total: number; failed: number }

export type PassInput = {
  account: Account
  concurrency: number
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
}

/** How many wanted activities are read from the table at once. */
const BATCH = 500
/** So many items in a row that fail in passing are an outage and not those items' own trouble. */
const OUTAGE_AFTER = 5

/**
 * Mirrors an account in one pass without a queue: polls the list, then fetches every wanted activity, newest first,
 * until none is due. One bad item is counted and named in the log, and the rest goes on; an outage ends the pass.
 */
export async function syncActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: PassInput,
): Promise<PassCounts> {
  const { account } = input
  const poll = await pollActivities(deps, options, signalled(input))
  const fetched = await fetchWanted(deps, options, input)
  const states = await deps.store.read((tx) => countByState(tx, account.accountId))
  return {
    listed: poll.listed,
    fetched: fetched.fetched,
    unchanged: fetched.unchanged,
    absent: 0,
    failed: fetched.failed + poll.bad,
    pending: states.wanted + states.awaiting_samples,
  }
}

/** Fetches every wanted activity that is due, newest first, `concurrency` at a time; its counts are in `sync_runs` too. */
export async function fetchWanted(deps: MirrorDeps, options: MirrorOptions, input: PassInput) {
  const { accountId } = input.account
  const tally = { fetched: 0, unchanged: 0, failed: 0 }
  const seen = new Set<number>()
  let due = await findDue(deps, accountId, seen)
  if (due.length === 0) return tally
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const total = Math.max(states.wanted, due.length)
  return withRun(deps.store, { accountId, resource: RESOURCE, kind: 'fetch' }, async (run) => {
    for (; due.length > 0; due = await findDue(deps, accountId, seen)) {
      for (const activity of due) seen.add(activity.activityId)
      await fetchAll(deps, options, input, due, (result) => {
        tally[result]++
        run.fetched = tally.fetched
        run.failed = tally.failed
        const done = tally.fetched + tally.unchanged + tally.failed
        input.onProgress?.({ done, total: Math.max(total, done), failed: tally.failed })
      })
    }
    return tally
  })
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
  input: PassInput,
  activities: readonly WantedActivity[],
  count: (result: 'fetched' | 'unchanged' | 'failed') => void,
): Promise<void> {
  const queue = activities.values()
  const halt = new AbortController()
  const signal = input.signal ? AbortSignal.any([input.signal, halt.signal]) : halt.signal
  let failedInARow = 0
  const worker = async () => {
    for (const activity of queue) {
      signal.throwIfAborted()
      try {
        const result = await fetchPatiently(deps, options, { account: input.account, activity, signal })
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

/** A rate limit is no failure: the service's pacer waits as told before the next try is let through. */
async function fetchPatiently(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; activity: WantedActivity; signal: AbortSignal },
) {
  for (;;) {
    try {
      return await fetchActivity(deps, options, input)
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error
      deps.log.warn({ waitMs: error.retryAfterMs }, 'the service asks to wait')
    }
  }
}

function signalled(input: PassInput): { account: Account; signal?: AbortSignal } {
  return input.signal ? { account: input.account, signal: input.signal } : { account: input.account }
}
