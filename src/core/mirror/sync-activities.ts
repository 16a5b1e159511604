import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  isAbort,
  TransientError,
  UnexpectedResponseError,
} from '../../kit/errors.ts'
import { type Hold, withHold } from '../../kit/semaphore.ts'
import { formatDuration, joinSignals, SECOND, within } from '../../kit/time.ts'
import type { Account } from '../store/account-rows.ts'
import { countByState, findWanted, recordRefetch, type WantedActivity } from '../store/activities/wanted.ts'
import { withRun } from '../store/runs.ts'
import { fetchServiceState, OUTAGE_AFTER } from './failures.ts'
import { type MirrorDeps, retryWhenRateLimited } from './mirror.ts'
import { type FetchedActivity, fetchActivity, recordActivities } from './mirror-activity.ts'
import { ACTIVITIES, pollActivities } from './poll-activities.ts'
import { type ReconcileResult, reconcileActivities } from './reconcile-activities.ts'
import { updateTimeZones } from './time-zones.ts'

type PassCounts = {
  listed: number
  fetched: number
  unchanged: number
  absent: number
  /** activities whose last response was unusable, in this pass or earlier, and unreadable list entries */
  failed: number
  /** known changes that are not mirrored yet, such as samples that the service has not computed yet */
  pending: number
  /** the message of this pass's first failure */
  reason?: string
}

type PassInput = FetchWantedInput & {
  /** also compares the whole list with the mirror */
  full?: boolean
  /** accepts the list even if most activities are missing from it */
  acceptRemovals?: boolean
}

/**
 * Mirrors an account's activities in one pass without a queue: polls the list, reconciles if `full`, fetches every wanted activity that is
 * due, newest first, and finds time zones. A list that reconcile refuses is logged and counted as failed, and the pass continues. An outage
 * ends the pass.
 */
export async function syncActivities(deps: MirrorDeps, input: PassInput): Promise<PassCounts> {
  const { accountId } = input.account
  const poll = await retryWhenRateLimited(deps, () => pollActivities(deps, input))
  const compared = input.full ? await reconcile(deps, input) : undefined
  const fetched = await fetchWanted(deps, input)
  await updateTimeZones(deps, input.account)
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const refused = compared === 'refused' ? 1 : 0
  const reconciled = compared === 'refused' ? undefined : compared
  return {
    listed: reconciled?.listed ?? poll.listed,
    fetched: fetched.fetched,
    unchanged: fetched.unchanged,
    absent: (reconciled?.absent ?? 0) + fetched.absent,
    failed: states.failed + Math.max(poll.bad, refused),
    pending: states.wanted + states.awaiting_samples,
    ...(fetched.reason !== undefined && { reason: fetched.reason }),
  }
}

async function reconcile(deps: MirrorDeps, input: PassInput): Promise<ReconcileResult | 'refused'> {
  try {
    return await reconcileActivities(deps, input)
  } catch (error) {
    if (!(error instanceof UnexpectedResponseError)) throw error
    deps.log.error({ account: input.account.name, code: error.code }, errorLine(error))
    return 'refused'
  }
}

/** Which activities to fetch again: activities with these paths, or all activities from the day `since` on (midnight UTC). */
export type ResyncChoice = { paths: readonly string[] } | { since: Date }

/**
 * Marks activities to be fetched again with their samples and rewritten, then fetches every wanted activity. Throws ConfigError
 * `unknown_activity` and marks nothing if a path is not mirrored or is absent.
 */
export async function resyncActivities(
  deps: MirrorDeps,
  input: FetchWantedInput & { choice: ResyncChoice },
): Promise<FetchCounts & { marked: number }> {
  const { choice } = input
  const { accountId, name } = input.account
  const marked = await deps.store.transaction(async (tx) => {
    const found = await recordRefetch(tx, { accountId, wantedAt: deps.now(), ...choice })
    if (!('paths' in choice)) return found
    const missing = choice.paths.filter((path) => !found.includes(path))
    if (missing.length === 0) return found
    throw unknownActivity(name, missing)
  })
  deps.log.info({ account: name, marked: marked.length }, 'activities marked to be fetched again')
  const counts = await fetchWanted(deps, input)
  await updateTimeZones(deps, input.account)
  return { marked: marked.length, ...counts }
}

/** Makes the error for paths that a person named but the account does not have. */
export function unknownActivity(account: string, paths: readonly string[]): ConfigError {
  return new ConfigError(
    'unknown_activity',
    `account "${account}" has no activity ${paths.slice(0, 5).join(', ')} that the service lists; ` +
      'to list the paths, run: musette sql "select path from training.activities where absent_since is null"',
  )
}

/** Number of wanted activities that are read from the table at once. */
const PAGE_SIZE = 500
/** How often a long pass logs its progress, ms. */
const PROGRESS_EVERY_MS = 30 * SECOND
/** Number of samples in a batch before the batch is recorded, because each transaction and each COPY has a fixed cost. */
const BATCH_SAMPLES = 40_000
/** Maximum unrecorded samples of all workers together, so that more workers need no more memory. */
const MAX_UNRECORDED_SAMPLES = 160_000
/** Maximum activities per batch, for activities with few or no samples. */
const MAX_BATCH_ACTIVITIES = 10
/** How long a batch waits for the next response before it is recorded, ms, so that a slow response does not delay the writing. */
const BATCH_WAIT_MS = 250

export type Progress = { done: number; total: number; failed: number }

type FetchWantedInput = {
  account: Account
  concurrency: number
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
}

type FetchResult = 'fetched' | 'unchanged' | 'failed' | 'absent'
/** Activities by outcome. `absent`: the service no longer has them. `reason` is the message of the first failure. */
export type FetchCounts = Record<FetchResult, number> & { reason?: string }

/**
 * Fetches every wanted activity that is due, newest first, `concurrency` at a time, and records the counts in `sync_runs`. A failed activity
 * is counted and logged, and the others continue. An outage ends the pass with the TransientError.
 */
export async function fetchWanted(deps: MirrorDeps, input: FetchWantedInput): Promise<FetchCounts> {
  const { accountId } = input.account
  const tally: FetchCounts = { fetched: 0, unchanged: 0, failed: 0, absent: 0 }
  const seen = new Set<number>()
  let due = await findDue(deps, accountId, seen)
  if (due.length === 0) return tally
  const states = await deps.store.read((tx) => countByState(tx, accountId))
  const total = Math.max(states.wanted, due.length)
  const startedAt = deps.now().getTime()
  let loggedAt = startedAt
  const logProgress = ({ done, total, failed }: Progress) => {
    const now = deps.now().getTime()
    if (now - loggedAt < PROGRESS_EVERY_MS) return
    loggedAt = now
    const toGo = formatDuration(((now - startedAt) / done) * (total - done))
    deps.log.info({ account: input.account.name, done, total, failed, toGo }, 'fetching activities')
  }
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
  // The page includes activities that this pass already tried; they are removed below.
  const limit = PAGE_SIZE + seen.size
  const wanted = await deps.store.read((tx) => findWanted(tx, { accountId, limit, now: deps.now() }))
  return wanted.filter((activity) => !seen.has(activity.activityId))
}

/**
 * Fetches activities in order, `concurrency` at a time, and records them in batches. A failed activity is counted and logged, and the others
 * continue. An outage ends it with the TransientError. Responses already fetched are always recorded. Calls `count` once for each finished
 * activity, with the error if it failed.
 */
async function fetchAll(
  deps: MirrorDeps,
  input: FetchWantedInput & {
    activities: readonly WantedActivity[]
    count: (result: FetchResult, error?: unknown) => void
  },
): Promise<void> {
  const { account, concurrency, count } = input
  const queue = input.activities.values()
  const halt = joinSignals([input.signal])
  const { signal } = halt
  const fullBatch = Math.min(BATCH_SAMPLES, MAX_UNRECORDED_SAMPLES / concurrency)
  const failedInARow = { fetching: 0, recording: 0 }
  const others = spread(input.activities)
  let lastError: unknown

  const fail = async (step: keyof typeof failedInARow, activity: WantedActivity, error: unknown) => {
    if (isAbort(error, signal) || error instanceof CredentialsRejectedError) throw error
    // A batch that could not be recorded is one failure, although each of its activities has the error.
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
    // Each worker's first batch has a different size, so that the workers do not all record at the same time.
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

/** Returns paths from the end, the middle and the start, because neighbours of a failed activity often fail for the same reason. */
function spread(activities: readonly WantedActivity[]): string[] {
  const places = [activities.length - 1, Math.floor(activities.length / 2), 0]
  return [...new Set(places)].flatMap((place) => activities[place]?.path ?? [])
}

function isFull(batch: readonly FetchedActivity[], enough: number): boolean {
  const samples = batch.reduce((sum, { detail }) => sum + detail.samples.count, 0)
  return samples >= enough || batch.length >= MAX_BATCH_ACTIVITIES
}
