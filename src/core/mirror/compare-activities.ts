import { isDeepStrictEqual } from 'node:util'
import {
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  isAbort,
  TransientError,
  UnexpectedResponseError,
} from '../../kit/errors.ts'
import { eachAtOnce, withHold } from '../../kit/semaphore.ts'
import { DEFAULT_MAX_BODY_BYTES } from '../service/http-message.ts'
import { findRawDocuments, unpackDocument } from '../store/activities/raw-documents.ts'
import { upsertListed } from '../store/activities/upsert-listed.ts'
import { findLeastVerified, type WantedActivity } from '../store/activities/wanted.ts'
import { findDifferences, recordVerified } from '../store/activities/write-activities.ts'
import { withRun } from '../store/runs.ts'
import type { Difference } from '../store/samples/compare-content.ts'
import type { Json } from '../store/schema/schemas.ts'
import { acquireNamedLock } from '../store/store.ts'
import { isGone, OUTAGE_AFTER, recordFailure } from './failures.ts'
import { type Listed, makeEntryLookup } from './list-activities.ts'
import { type MirrorDeps, type MirrorInput, retryWhenRateLimited } from './mirror.ts'
import {
  type ActivityInput,
  assertNotPoorer,
  type FetchedActivity,
  fetchWhole,
  recordActivities,
} from './mirror-activity.ts'
import { historyWindow } from './poll-activities.ts'
import { derive } from './rebuild-activities.ts'
import { recordIfGone } from './reconcile-activities.ts'

/** Resource name of the scheduled comparisons in `sync_runs`. */
const SCRUB = 'scrub'

/**
 * Outcome of a comparison: what differs, and whether the tables now hold the response's values. `older`: the row already has a newer response.
 * `shortened` names the fields that the tables shorten by design.
 */
export type Comparison =
  | { result: 'equal'; shortened?: string[] }
  | { result: 'different'; differences: Difference[]; isRepaired: boolean }
  | { result: 'older' }

/** The difference of an activity that the service no longer has, neither by its path nor in its list. */
const GONE: Difference = { field: 'absent_since', mirrored: null, service: 'no longer there', cells: 1 }

/**
 * Fetches one activity with samples (service document, endpoint 8) and its list entry (`entryOf`), and compares every value with the tables,
 * and the stored response with its checksum. With `repair`, equality renews `verified_at`, and differences are recorded like any change, with
 * the first differing value of each field in the revision. Without `repair`, writes nothing. Throws UnexpectedResponseError `poorer_answer`
 * for a repair with a response that lacks mirrored values, and errors of the service and the database.
 */
export async function compareActivity(
  deps: MirrorDeps,
  {
    activity,
    repair,
    entryOf,
    ...input
  }: ActivityInput & { entryOf: ReturnType<typeof makeEntryLookup>; repair: boolean },
): Promise<Comparison> {
  const { path, startedAt } = activity
  let fetched: FetchedActivity
  try {
    fetched = await fetchWhole(deps, { ...input, activity })
  } catch (error) {
    const isMissing = repair
      ? await recordIfGone(deps, { ...input, activity, error })
      : isGone(activity, error) && startedAt !== null && !(await entryOf(activity))
    if (!isMissing) throw error
    return { result: 'different', differences: [GONE], isRepaired: repair }
  }
  const start = fetched.detail.row.startedAt ?? startedAt
  const { from, to } = historyWindow(deps)
  // The mirror never lists activities outside its history; such an activity came by an upload.
  const isListed = start === null || (start >= from && start <= to)
  const entry = isListed ? await entryOf({ path, startedAt: start }) : undefined
  const document = await compareDocument(deps, fetched)
  const detail = { ...fetched.detail, entry, recordedAt: deps.now() }
  const found = await deps.store.transaction(async (tx) => {
    const { ofRow, ofContent } = (await findDifferences(tx, detail)) ?? {}
    if (!ofRow || !ofContent) return undefined
    if (typeof document === 'object') ofContent.push(document)
    const differences = [...ofRow, ...ofContent]
    if (repair && differences.length === 0) await recordVerified(tx, detail)
    return { differences, ofContent }
  })
  if (!found) return { result: 'older' }
  const { differences, ofContent } = found
  const shortened = fetched.drift.filter(({ kind }) => kind === 'range').map(({ field }) => field)
  if (differences.length === 0) return { result: 'equal', ...(shortened.length > 0 && { shortened }) }
  if (!repair) return { result: 'different', differences, isRepaired: false }
  // A response equal to the stored one lacks no mirrored value, so the tables are damaged.
  if (document !== 'stored') await assertNotPoorer(deps, fetched)
  if (entry) await recordEntry(deps, fetched, entry)
  const contentChanges = Object.fromEntries(
    ofContent.map(({ field, mirrored, service }): [string, [Json, Json]] => [field, [mirrored, service]]),
  )
  const [end] = await recordActivities(deps, [{ ...fetched, detail: { ...fetched.detail, contentChanges } }])
  if (end && 'error' in end) throw end.error
  return { result: 'different', differences, isRepaired: end?.result === 'fetched' }
}

/**
 * Compares the stored response with the fetched one: it must exist, match its checksum, and have equal content in any member order. Returns
 * `stored` if both have the same bytes. Compares nothing if responses are not kept, or if the stored response has samples that the service no
 * longer sends.
 */
async function compareDocument(
  deps: MirrorDeps,
  { activity, detail }: FetchedActivity,
): Promise<Difference | 'stored' | 'equal'> {
  const { activityId, rawDocument, samples } = detail
  if (!rawDocument || (samples.count === 0 && activity.sampleCount > 0)) return 'equal'
  const stored = (await deps.store.read((tx) => findRawDocuments(tx, [activityId]))).get(activityId)
  const differs = (mirrored: string | null): Difference => {
    return { field: 'raw_documents', mirrored, service: rawDocument.sha256, cells: 1 }
  }
  if (!stored) return differs(null)
  try {
    const body = await unpackDocument(stored, DEFAULT_MAX_BODY_BYTES)
    if (stored.sha256 === rawDocument.sha256) return 'stored'
    const { sha256, ...derived } = derive(activity, body, stored.sha256)
    return isDeepStrictEqual({ ...detail, ...derived }, detail) ? 'equal' : differs(sha256)
  } catch (error) {
    return differs(errorLine(error))
  }
}

/** Records a changed list entry that came with the fetched response. */
async function recordEntry(
  deps: MirrorDeps,
  { activity: { accountId }, detail: { requestedAt } }: FetchedActivity,
  entry: Listed,
): Promise<void> {
  const listedAt = entry.listedAt < requestedAt ? entry.listedAt : requestedAt
  await deps.store.transaction(async (tx) => {
    await acquireNamedLock(tx, 'activity list', accountId)
    await upsertListed(tx, { accountId, entries: [entry.activity], listedAt, whenSame: 'leave' })
  })
}

/** Outcome of comparing one activity; `reason` says why the comparison failed. */
export type Verified = { path: string } & (Comparison | { result: 'failed'; reason: string })

/**
 * Compares activities with the service, `atOnce` at a time. `onEnd` gets each outcome, and for a failure the arguments of recordFailure; the
 * other activities continue. Throws CredentialsRejectedError, ConfigError, the TransientError of an outage, and the signal's reason.
 */
export async function compareActivities(
  deps: MirrorDeps,
  {
    activities,
    atOnce,
    onEnd,
    ...input
  }: MirrorInput & {
    activities: readonly WantedActivity[]
    repair: boolean
    atOnce: number
    onEnd: (end: Verified, failure?: Parameters<typeof recordFailure>[1]) => Promise<void> | void
  },
): Promise<void> {
  const entryOf = makeEntryLookup(deps, input)
  let failedInARow = 0
  await eachAtOnce(activities, atOnce, async (activity) => {
    input.signal?.throwIfAborted()
    const { path } = activity
    const requestedAt = deps.now()
    const work = () => withHold((hold) => compareActivity(deps, { ...input, activity, entryOf, hold }))
    let compared: Comparison
    try {
      compared = await retryWhenRateLimited(deps, work)
    } catch (error) {
      const isOfAll = error instanceof CredentialsRejectedError || error instanceof ConfigError
      if (isAbort(error, input.signal) || isOfAll) throw error
      const isOutage =
        error instanceof TransientError && ++failedInARow >= Math.min(OUTAGE_AFTER, activities.length)
      if (isOutage) throw error
      await onEnd({ path, result: 'failed', reason: errorLine(error) }, { activity, requestedAt, error })
      return
    }
    failedInARow = 0
    await onEnd({ path, ...compared })
  })
}

/**
 * Compares some of an account's activities with the service, least recently compared first, and records what differs. Does nothing while
 * activities wait to be fetched. The counts are in `sync_runs`; `changed` counts activities that differed. A failed comparison is recorded in
 * the log and the activity's row, and the others continue. An outage ends the run with the TransientError.
 */
export async function scrubActivities(
  deps: MirrorDeps,
  { limit, ...input }: MirrorInput & { limit: number },
): Promise<{ compared: number; different: number }> {
  const { accountId, name } = input.account
  const activities = await deps.store.read((tx) =>
    findLeastVerified(tx, { accountId, limit, now: deps.now() }),
  )
  if (activities.length === 0) return { compared: 0, different: 0 }
  return withRun(deps.store, { accountId, resource: SCRUB, kind: 'schedule' }, async (tally) => {
    await compareActivities(deps, {
      ...{ ...input, activities, repair: true, atOnce: 1 },
      async onEnd(end, failure) {
        const { path, result } = end
        if (result === 'failed') {
          tally.failed++
          if (failure?.error instanceof UnexpectedResponseError) await recordFailure(deps, failure)
          deps.log.error({ account: name, path, reason: end.reason }, 'activity not compared')
        } else tally.listed++
        if (result !== 'different') return
        tally.changed++
        const fields = end.differences.map(({ field, cells }) => `${field} (${cells})`)
        deps.log.warn({ account: name, path, fields }, 'activity differs from the service; updated')
      },
    })
    return { compared: tally.listed, different: tally.changed }
  })
}
