import { CredentialsRejectedError, errorLine, isAbort, TransientError } from '../../kit/errors.ts'
import { type Hold, withHold } from '../../kit/semaphore.ts'
import { formatDuration, joinSignals, SECOND, within } from '../../kit/time.ts'
import type { Account } from '../store/account-rows.ts'
import { countByState, findWanted, type WantedActivity } from '../store/activities/wanted.ts'
import { fetchServiceState, OUTAGE_AFTER } from './item-failure.ts'
import { type MirrorDeps, retryWhenRateLimited, withRun } from './mirror.ts'
import { type FetchedActivity, fetchActivity, recordActivities } from './mirror-activity.ts'
import { ACTIVITIES } from './poll-activities.ts'

/** How many wanted activities are read from the table at once. */
const PAGE_SIZE = 500
/** How often a long pass logs its progress. */
const PROGRESS_EVERY_MS = 30 * SECOND
/** Samples that one batch holds before it is recorded: each transaction and each COPY has a fixed cost. */
const BATCH_SAMPLES = 40_000
/** The most unrecorded samples of all workers, so that more workers need no more memory. */
const UNRECORDED_SAMPLES = 160_000
/** Activities that one batch holds at most, with few samples or none. */
const BATCH_ACTIVITIES = 10
/** A batch waits this long for the next answer before it is recorded, so that a slow answer does not delay the writing. */
const BATCH_WAIT_MS = 250

export type Progress = { done: number; total: number; failed: number }

export type FetchWantedInput = {
  account: Account
  concurrency: number
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
}

type FetchResult = 'fetched' | 'unchanged' | 'failed' | 'absent'
/** Activities by result; `absent`: the service no longer has them; `reason` is the message of the first failure. */
export type FetchCounts = Record<FetchResult, number> & { reason?: string }

/**
 * Fetches every wanted activity that is due, newest first, `concurrency` at a time; its counts are in `sync_runs` too.
 * An activity that fails is counted and named in the log, and the others go on; an outage ends the pass with the
 * TransientError.
 */
export async function fetchWanted(deps: MirrorDeps, input: FetchWantedInput): Promise<FetchCounts> {
  const { accountId } = input.account
  const tally: FetchCounts = { fetched: 0, unchanged: 0, failed: 0, absent: 0 }
  const seen = new Set<number>()
  let due = await findDue(deps, accountId, seen)
  if (due.length === 0) return tally
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const total = Math.max(states.wanted, due.length)
  const logProgress = makeProgressLog(deps, input.account)
  return withRun(deps.store, { accountId, resource: ACTIVITIES, kind: 'fetch' }, async (run) => {
    for (; due.length > 0; due = await findDue(deps, accountId, seen)) {
      for (const activity of due) seen.add(activity.activityId)
      const count = (result: FetchResult, error?: unknown) => {
        tally[result]++
        if (error !== undefined) tally.reason ??= errorLine(error)
        run.fetched = tally.fetched
        run.failed = tally.failed
        const done = tally.fetched + tally.unchanged + tally.failed + tally.absent
        const progress = { done, total: Math.max(total, done), failed: tally.failed }
        logProgress(progress)
        input.onProgress?.(progress)
      }
      await fetchAll(deps, { ...input, activities: due, count })
    }
    return tally
  })
}

async function findDue(deps: MirrorDeps, accountId: number, seen: ReadonlySet<number>) {
  // The page includes what this pass has tried already, which is left out below.
  const limit = PAGE_SIZE + seen.size
  const wanted = await deps.store.read((tx) => findWanted(tx, { accountId, limit, now: deps.now() }))
  return wanted.filter((activity) => !seen.has(activity.activityId))
}

function makeProgressLog(deps: MirrorDeps, account: Account): (progress: Progress) => void {
  const startedAt = deps.now().getTime()
  let loggedAt = startedAt
  return ({ done, total, failed }) => {
    const now = deps.now().getTime()
    if (now - loggedAt < PROGRESS_EVERY_MS) return
    loggedAt = now
    const toGo = formatDuration(((now - startedAt) / done) * (total - done))
    deps.log.info({ account: account.name, done, total, failed, toGo }, 'fetching activities')
  }
}

type FetchAllInput = {
  account: Account
  activities: readonly WantedActivity[]
  concurrency: number
  signal?: AbortSignal
  /** called once for each activity that is done with, with the error when it failed */
  count: (result: FetchResult, error?: unknown) => void
}

/**
 * Fetches activities in their order, `concurrency` at a time, and records them in batches. An activity that fails is counted
 * and named in the log, and the others go on; an outage ends it with the TransientError. Answers that have been fetched are
 * recorded in any case.
 */
async function fetchAll(deps: MirrorDeps, input: FetchAllInput): Promise<void> {
  const { account, concurrency, count } = input
  const queue = input.activities.values()
  const halt = joinSignals([input.signal])
  const { signal } = halt
  const fullBatch = Math.min(BATCH_SAMPLES, UNRECORDED_SAMPLES / concurrency)
  const failedInARow = { fetching: 0, recording: 0 }
  const others = spread(input.activities)
  let lastError: unknown

  const fail = async (step: keyof typeof failedInARow, activity: WantedActivity, error: unknown) => {
    if (isAbort(error, signal) || error instanceof CredentialsRejectedError) throw error
    // A batch that could not be recorded is one failure, though each of its activities has the error.
    if (error instanceof TransientError && error !== lastError) failedInARow[step]++
    lastError = error
    if (failedInARow[step] >= OUTAGE_AFTER) {
      if (step === 'recording') throw error
      if ((await fetchServiceState(deps, { account, others, signal })) === 'outage') throw error
      failedInARow.fetching = 0
    }
    count('failed', error)
    deps.log.error({ path: activity.path, reason: errorLine(error) }, 'activity failed')
  }

  const fetchOne = async (activity: WantedActivity, hold: Hold): Promise<FetchedActivity[]> => {
    try {
      const fetched = await retryWhenRateLimited(deps, () =>
        fetchActivity(deps, { account, activity, hold, signal }),
      )
      failedInARow.fetching = 0
      if (typeof fetched !== 'string') return [fetched]
      count(fetched)
    } catch (error) {
      await fail('fetching', activity, error)
    }
    return []
  }

  const record = async (batch: readonly FetchedActivity[]) => {
    for (const end of await recordActivities(deps, batch)) {
      if ('error' in end) await fail('recording', end.activity, end.error)
      else {
        failedInARow.recording = 0
        count('fetched')
      }
    }
  }

  const work = async (index: number, batch: FetchedActivity[]) => {
    // The first batches differ in size from worker to worker, so that the workers do not all record at the same time.
    let enough = (fullBatch * (index + 1)) / concurrency
    for (const activity of queue) {
      signal.throwIfAborted()
      await withHold(async (hold) => {
        const fetching = fetchOne(activity, hold)
        const isQuick = await within(fetching, BATCH_WAIT_MS)
        if (!isQuick) await record(batch.splice(0))
        batch.push(...(await fetching))
        if (isQuick && !hold.isTaken && !isFull(batch, enough)) return
        enough = fullBatch
        await record(batch.splice(0))
      })
    }
    await record(batch.splice(0))
  }

  const workers = Array.from({ length: concurrency }, async (_, index) => {
    const batch: FetchedActivity[] = []
    try {
      await work(index, batch)
    } catch (error) {
      halt.abort(error)
      await record(batch).catch(() => undefined)
      throw error
    }
  })
  const ends = await Promise.allSettled(workers)
  halt.clear()
  signal.throwIfAborted()
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Paths from the end, the middle and the beginning: neighbours of an activity that fails often fail for the same reason. */
function spread(activities: readonly WantedActivity[]): string[] {
  const places = [activities.length - 1, Math.floor(activities.length / 2), 0]
  return [...new Set(places)].flatMap((place) => activities[place]?.path ?? [])
}

function isFull(batch: readonly FetchedActivity[], enough: number): boolean {
  const samples = batch.reduce((sum, { detail }) => sum + detail.samples.count, 0)
  return samples >= enough || batch.length >= BATCH_ACTIVITIES
}
