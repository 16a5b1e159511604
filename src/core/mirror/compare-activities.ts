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

/** The resource of the runs that compare on a schedule. */
const SCRUB = 'scrub'

/**
 * How a comparison ended: what differs, and whether the tables hold the answer's values now; `older`: the row has a newer answer. `shortened`
 * names the fields of which the tables hold no more than a part, as they do by design.
 */
export type Comparison =
  | { result: 'equal'; shortened?: string[] }
  | { result: 'different'; differences: Difference[]; isRepaired: boolean }
  | { result: 'older' }

/** The difference of an activity that the service no longer has, neither alone nor in its list. */
const GONE: Difference = { field: 'absent_since', mirrored: null, service: 'no longer there', cells: 1 }

/**
 * Fetches one activity with samples (service document, endpoint 8) and its list entry (`entryOf`), and compares every value with the
 * tables, and the stored answer with its checksum. With `repair` an equal answer moves `verified_at`, and a different one is recorded like
 * any change, with the first differing value of each field in its revision; without it nothing is written. Throws UnexpectedResponseError
 * `poorer_answer` for a repair with an answer that lacks mirrored values, and the errors of the service and the database.
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
  // The mirror asks for no list with an activity outside of its history, which came by an upload.
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
  // An answer that is the stored one lacks nothing that was mirrored: the tables are damaged.
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
 * Compares the stored answer with the one that was fetched: it is there, has its checksum, and says the same, whatever the order of
 * its members; `stored` when it is the same to the byte. Nothing is compared when answers are not kept, or when the stored one is that
 * of samples that the service no longer sends.
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

/** Records a changed entry of the list, which came with the fetched answer. */
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

/** How the comparison of one activity ended; `failed` has the reason. */
export type Verified = { path: string } & (Comparison | { result: 'failed'; reason: string })

/**
 * Compares activities with the service, `atOnce` at a time. `onEnd` gets each end, and what recordFailure takes of one that failed; the
 * others go on. Throws CredentialsRejectedError, ConfigError, the TransientError of an outage, and the signal's reason.
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
 * Compares some activities of an account with the service, those first that were compared the longest time ago, and records what differs.
 * Nothing is done while activities are to be fetched: they come first. The counts are in `sync_runs`, `changed` those that differed; an
 * activity whose comparison fails is named in the log and in its row, and the others go on. An outage ends it with the TransientError.
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
