import { isDeepStrictEqual } from 'node:util'
import { errorLine, isAbort, TransientError, UnexpectedResponseError } from '../kit/errors.ts'
import { DEFAULT_MAX_BODY_BYTES } from '../service/http-message.ts'
import { recordVerified } from '../store/activities/activity-outcome.ts'
import { type Difference, findDifferences } from '../store/activities/differences.ts'
import { findRawDocuments, unpackDocument } from '../store/activities/raw-documents.ts'
import { upsertListed } from '../store/activities/upsert-listed.ts'
import { findLeastVerified, type WantedActivity } from '../store/activities/wanted.ts'
import { acquireNamedLock } from '../store/store.ts'
import { isGone, isItemFailure, recordFailure } from './item-failure.ts'
import { type Listed, makeEntryLookup } from './list-activities.ts'
import {
  type MirrorDeps,
  type MirrorInput,
  type MirrorOptions,
  retryWhenRateLimited,
  withRun,
} from './mirror.ts'
import { assertNotPoorer, type FetchedActivity, fetchWhole, recordActivities } from './mirror-activity.ts'
import { derive } from './rebuild-activities.ts'
import { recordIfGone } from './reconcile-activities.ts'

/** The resource of the runs that compare on a schedule. */
const SCRUB = 'scrub'

/** The tables that are written with the samples of an activity. */
const OF_CONTENT = ['raw_documents', 'samples', 'power_curves', 'activity_intensity', 'ride_measures']

/** How a comparison ended: what differs, and whether the tables hold the answer's values now; `older`: the row has a newer answer. */
export type Comparison =
  | { result: 'equal' }
  | { result: 'different'; differences: Difference[]; isRepaired: boolean }
  | { result: 'older' }

/** The difference of an activity that the service has neither by itself nor in its list. */
const GONE: Difference = { field: 'absent_since', mirrored: null, service: 'no longer there', cells: 1 }

type CompareInput = MirrorInput & { activity: WantedActivity; entryOf: ReturnType<typeof makeEntryLookup> }

/**
 * Fetches one activity whole (service document, endpoint 8, with samples) and its entry of the list (`entryOf`), and compares every
 * value with the tables, and the stored answer with its checksum. With `repair` an
 * equal answer moves `verified_at`, and another one is recorded like any change, with the first value of each field in its revision;
 * without it nothing is written. Throws UnexpectedResponseError `poorer_answer` for a repair with an answer that lacks what is
 * mirrored, and the errors of the service and the database.
 */
export async function compareActivity(
  deps: MirrorDeps,
  options: MirrorOptions,
  { activity, repair, entryOf, ...input }: CompareInput & { repair: boolean },
): Promise<Comparison> {
  const { path, startedAt } = activity
  let fetched: FetchedActivity
  try {
    fetched = await fetchWhole(deps, options, { ...input, activity })
  } catch (error) {
    const isRepaired = repair && (await recordIfGone(deps, options, { ...input, activity, error }))
    const isUnlisted = async () => isGone(activity, error) && startedAt !== null && !(await entryOf(activity))
    if (!isRepaired && (repair || !(await isUnlisted()))) throw error
    return { result: 'different', differences: [GONE], isRepaired }
  }
  const entry = await entryOf({ path, startedAt: fetched.detail.row.startedAt ?? startedAt })
  const document = await findDocumentDifferences(deps, fetched)
  const detail = { ...fetched.detail, entry, recordedAt: deps.now() }
  const differences = await deps.store.transaction(async (tx) => {
    const found = await findDifferences(tx, detail)
    found?.push(...document.differences)
    if (repair && found?.length === 0) await recordVerified(tx, detail)
    return found
  })
  if (!differences) return { result: 'older' }
  if (differences.length === 0) return { result: 'equal' }
  if (!repair) return { result: 'different', differences, isRepaired: false }
  // An answer that is the stored one lacks nothing that was mirrored: the tables are damaged.
  if (!document.isStored) await assertNotPoorer(deps, fetched)
  if (entry) await recordEntry(deps, fetched, entry)
  return { result: 'different', differences, isRepaired: await record(deps, fetched, differences) }
}

/**
 * Compares the stored answer with the one that was fetched: it is there, has its checksum, and says the same, whatever the order of
 * its members. Nothing is compared when answers are not kept, or when the stored one is that of samples that the service no longer sends.
 */
async function findDocumentDifferences(
  deps: MirrorDeps,
  { activity, detail }: FetchedActivity,
): Promise<{ differences: Difference[]; isStored: boolean }> {
  const { activityId, rawDocument, samples } = detail
  const ended = (differences: Difference[], isStored = false) => ({ differences, isStored })
  if (!rawDocument || (samples.count === 0 && activity.sampleCount > 0)) return ended([])
  const stored = (await deps.store.read((tx) => findRawDocuments(tx, [activityId]))).get(activityId)
  const different = (mirrored: string | null) =>
    ended([{ field: 'raw_documents', mirrored, service: rawDocument.sha256, cells: 1 }])
  if (!stored) return different(null)
  try {
    const body = await unpackDocument(stored, DEFAULT_MAX_BODY_BYTES)
    if (stored.sha256 === rawDocument.sha256) return ended([], true)
    const { sha256: _sha256, ...derived } = derive(activity, body, stored.sha256)
    const now: Readonly<Record<string, unknown>> = detail
    const isSame = Object.entries(derived).every(([key, value]) => isDeepStrictEqual(value, now[key]))
    return isSame ? ended([]) : different(stored.sha256)
  } catch (error) {
    return different(errorLine(error))
  }
}

/** Records an entry of the list where it is another one than the last; the answer that was fetched with it holds what it tells. */
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

async function record(
  deps: MirrorDeps,
  fetched: FetchedActivity,
  differences: readonly Difference[],
): Promise<boolean> {
  // Columns of the activity are in its revision anyway.
  const inContent = differences.filter(({ field }) => OF_CONTENT.some((table) => field.startsWith(table)))
  const contentChanges = Object.fromEntries(
    inContent.map(({ field, mirrored, service }) => [
      field,
      [mirrored, service] as [typeof mirrored, typeof service],
    ]),
  )
  const [end] = await recordActivities(deps, [{ ...fetched, detail: { ...fetched.detail, contentChanges } }])
  if (end && 'error' in end) throw end.error
  return end?.result === 'fetched'
}

/**
 * Compares some activities of an account with the service, those first that were compared the longest time ago, and records what
 * differs. Nothing is done while activities are to be fetched: they come first. The counts are in `sync_runs`, `changed` those that
 * differed; an activity whose comparison fails is named in the log and in its row, and the others go on. An outage ends it with the
 * TransientError.
 */
export async function scrubActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  { limit, ...input }: MirrorInput & { limit: number },
): Promise<{ compared: number; different: number }> {
  const { account, signal } = input
  const { accountId } = account
  const due = await deps.store.read((tx) => findLeastVerified(tx, { accountId, limit, now: deps.now() }))
  if (due.length === 0) return { compared: 0, different: 0 }
  const entryOf = makeEntryLookup(deps, input)
  return withRun(deps.store, { accountId, resource: SCRUB, kind: 'schedule' }, async (tally) => {
    for (const activity of due) {
      const { path } = activity
      const requestedAt = deps.now()
      try {
        const work = () => compareActivity(deps, options, { ...input, activity, entryOf, repair: true })
        const compared = await retryWhenRateLimited(deps, work)
        tally.listed++
        if (compared.result !== 'different') continue
        tally.changed++
        const fields = compared.differences.map(({ field, cells }) => `${field} (${cells})`)
        deps.log.warn({ account: account.name, path, fields }, 'activity differs from the service; updated')
      } catch (error) {
        if (isAbort(error, signal) || !isItemFailure(error)) throw error
        if (error instanceof TransientError && due.length === 1) throw error
        tally.failed++
        if (error instanceof UnexpectedResponseError)
          await recordFailure(deps, { activity, requestedAt, error })
        deps.log.error({ account: account.name, path, reason: errorLine(error) }, 'activity not compared')
      }
    }
    return { compared: tally.listed, different: tally.changed }
  })
}
