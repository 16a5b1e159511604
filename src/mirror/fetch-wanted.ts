import { setMaxListeners } from 'node:events'
import { CredentialsRejectedError, errorLine, isAbort, TransientError } from '../kit/errors.ts'
import { formatDuration, SECOND, within } from '../kit/time.ts'
import type { Account } from '../store/accounts.ts'
import { countByState, findWanted, type WantedActivity } from '../store/activities/wanted.ts'
import { askActivity, type Fetched } from './fetch-activity.ts'
import { isOutage, OUTAGE_AFTER } from './fetch-failure.ts'
import { type MirrorDeps, type MirrorOptions, patiently, withRun } from './mirror.ts'
import { RESOURCE } from './poll-activities.ts'
import { recordFetched } from './record-activity.ts'

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

type FetchResult = 'fetched' | 'unchanged' | 'failed'
/** Activities by what became of them; `reason` is what the first failure said. */
export type FetchCounts = Record<FetchResult, number> & { reason?: string }

type FetchAllInput = {
  account: Account
  activities: readonly WantedActivity[]
  concurrency: number
  signal?: AbortSignal
  /** is told of each activity when it is done with, and the error when it failed */
  count: (result: FetchResult, error?: unknown) => void
}

/** Answers are recorded together, because each transaction and each COPY has its price, until they hold so many samples. */
const SAMPLES_TOGETHER = 40_000
/** So many at most in all that wait, whoever of the workers holds them: more workers need no more memory for it. */
const SAMPLES_WAITING = 160_000
/** So many answers at most, with few samples or none. */
const ANSWERS_TOGETHER = 10
/** What has come waits no longer than this for what is slow to come: then writing is not what the pass waits for. */
const QUICK_MS = 250

/**
 * Fetches activities in their order, `concurrency` at a time, and records them by the handful. One bad item is counted and
 * named in the log, and the rest goes on; an outage ends it with the TransientError. What has come is recorded in any case.
 */
async function fetchAll(deps: MirrorDeps, options: MirrorOptions, input: FetchAllInput): Promise<void> {
  const { account, concurrency, count } = input
  const queue = input.activities.values()
  const halt = new AbortController()
  const signal = input.signal ? AbortSignal.any([input.signal, halt.signal]) : halt.signal
  setMaxListeners(0, signal)
  const mostTogether = Math.min(SAMPLES_TOGETHER, SAMPLES_WAITING / concurrency)
  const failedInARow = { asking: 0, recording: 0 }
  const others = spread(input.activities)
  let last: unknown

  const fail = async (step: keyof typeof failedInARow, activity: WantedActivity, error: unknown) => {
    if (isAbort(error, signal) || error instanceof CredentialsRejectedError) throw error
    // Answers that could not be recorded together failed once.
    if (error instanceof TransientError && error !== last) failedInARow[step]++
    last = error
    if (failedInARow[step] >= OUTAGE_AFTER) {
      if (step === 'recording' || (await isOutage(deps, { account, others, signal }))) throw error
      failedInARow.asking = 0
    }
    count('failed', error)
    deps.log.error({ path: activity.path, reason: errorLine(error) }, 'activity failed')
  }

  const ask = async (activity: WantedActivity): Promise<Fetched[]> => {
    try {
      const answer = await patiently(deps, () => askActivity(deps, options, { account, activity, signal }))
      failedInARow.asking = 0
      if (answer !== 'unchanged') return [answer]
      count('unchanged')
    } catch (error) {
      await fail('asking', activity, error)
    }
    return []
  }

  const record = async (fetched: readonly Fetched[]) => {
    for (const end of await recordFetched(deps, fetched)) {
      if ('error' in end) await fail('recording', end.activity, end.error)
      else {
        failedInARow.recording = 0
        count('fetched')
      }
    }
  }

  const work = async (place: number, fetched: Fetched[]) => {
    // The first begins with a few and the last with all, so that from early on there is always one that records.
    let together = (mostTogether * (place + 1)) / concurrency
    for (const activity of queue) {
      signal.throwIfAborted()
      const asking = ask(activity)
      const quick = await within(asking, QUICK_MS)
      if (!quick) await record(fetched.splice(0))
      fetched.push(...(await asking))
      if (quick && !isEnough(fetched, together)) continue
      together = mostTogether
      await record(fetched.splice(0))
    }
    await record(fetched.splice(0))
  }

  const workers = Array.from({ length: concurrency }, async (_, place) => {
    const fetched: Fetched[] = []
    try {
      await work(place, fetched)
    } catch (error) {
      halt.abort(error)
      await record(fetched).catch(() => undefined)
      throw error
    }
  })
  const ends = await Promise.allSettled(workers)
  input.signal?.throwIfAborted()
  if (halt.signal.aborted) throw halt.signal.reason
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Paths from the end, the middle and the beginning: what fails for its own reasons often has neighbours that do, too. */
function spread(activities: readonly WantedActivity[]): string[] {
  const places = [activities.length - 1, Math.floor(activities.length / 2), 0]
  return [...new Set(places)].flatMap((place) => activities[place]?.path ?? [])
}

function isEnough(fetched: readonly Fetched[], together: number): boolean {
  const samples = fetched.reduce((sum, { detail }) => sum + detail.samples.count, 0)
  return samples >= together || fetched.length >= ANSWERS_TOGETHER
}
