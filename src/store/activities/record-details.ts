import { MusetteError } from '../../kit/errors.ts'
import { cleanJson } from '../clean.ts'
import type { Samples } from '../samples/encode-samples.ts'
import { replaceContent } from '../samples/replace-content.ts'
import type { Tx } from '../store.ts'
import { type ActivityChange, type Changes, recordRevision, updateActivities } from './activity-changes.ts'
import type { AnswerKey } from './activity-outcome.ts'
import { columnsToWrite, type DerivedDetail, KNOWN_ROW, type KnownRow } from './detail-columns.ts'
import { type PackedDocument, replaceRawDocuments } from './raw-documents.ts'

/** One answer about one activity. It is dropped when it was requested before the row's own. */
export type RecordDetailInput = AnswerKey &
  Omit<DerivedDetail, 'samples'> & {
    /** undefined: the answer had no session data; the samples and everything derived from them stay */
    samples?: Samples | undefined
    rawDocument?: PackedDocument | undefined
    detailState: 'mirrored' | 'awaiting_samples'
    nextFetchAt: Date | null
    /** fetches since the last complete one; 0 by default */
    fetchAttempts?: number
    /** what a comparison with the tables found in the samples and what is derived from them, for the revision */
    contentChanges?: Changes
  }

/** `older`: the row holds an answer that was requested later, and nothing was written. */
export type Recorded = 'recorded' | 'older'

/**
 * Records details of different activities (service document, "Activity detail") with their samples, power curves, raw
 * documents and revisions, all in the transaction of `tx`; several together cost much less than one at a time. A change that
 * was listed after `requestedAt` keeps an activity wanted. An answer without samples does not delete existing ones. Throws
 * MusetteError `activity_unknown` for one input. For several it does not wait for a locked row, because two batches that wait
 * for each other would deadlock, and throws `activity_busy` when a row is locked or does not exist.
 */
export async function recordDetails(tx: Tx, inputs: readonly RecordDetailInput[]): Promise<Recorded[]> {
  const known = await lockRows(tx, inputs)
  const rows: Array<ActivityChange & { activityId: number }> = []
  const replaced: Replaced[] = []
  for (const input of inputs) {
    const { activityId, requestedAt, samples } = input
    const before = known.get(activityId)
    if (!before) throw unavailable(activityId, inputs.length)
    if (before.older) continue
    // An answer without samples does not delete existing ones.
    const count = before.sample_count ?? 0
    const replacing = samples !== undefined && (samples.count > 0 || count === 0)
    // The count may be damaged. Before the first fetch there are none to delete.
    const hasContent = count > 0 || (before.fetched && samples?.count !== 0)
    if (replacing) replaced.push({ ...input, samples, hasContent })
    const content = replacing ? { samples, place: input.place } : undefined
    const { fields, after } = columnsToWrite(input.row, { before, content })
    if (before.fetched)
      await recordRevision(tx, { activityId, after, observedAt: requestedAt, others: input.contentChanges })
    // The run is not a value of the service, so it is in no revision.
    const samplesAt = replacing && samples.count > 0 ? { samplesAt: requestedAt, ...input.run } : {}
    const verifiedAt = samples ? { verifiedAt: requestedAt } : {}
    rows.push({
      activityId,
      ...after,
      ...samplesAt,
      ...verifiedAt,
      detailFields: fields,
      ...bookkeeping(input, before),
    })
  }
  await updateActivities(tx, rows)
  await replaceContent(tx, replaced)
  await replaceRawDocuments(tx, replaced)
  return inputs.map(({ activityId }) => (known.get(activityId)?.older ? 'older' : 'recorded'))
}

type Replaced = RecordDetailInput & { samples: Samples; hasContent: boolean }

type Before = KnownRow & {
  activity_id: number
  fetched: boolean
  older: boolean
  /** listed since with a change */
  wanted_since: boolean
  listed_since: boolean
  sample_count: number | null
}

// Postgres compares the times, which it holds to the microsecond; one after `recordedAt` was written by a clock that was ahead.
const LOCK = `
  SELECT a.activity_id, a.fetched_at IS NOT NULL AS fetched, a.sample_count, ${KNOWN_ROW},
    coalesce(a.fetched_at > asked.at AND a.fetched_at <= coalesce(asked.recorded_at, 'infinity'), false) AS older,
    coalesce(a.wanted_at > asked.at AND a.wanted_at <= coalesce(asked.recorded_at, 'infinity'), false) AS wanted_since,
    coalesce(a.listed_at > asked.at AND a.listed_at <= coalesce(asked.recorded_at, 'infinity'), false) AS listed_since
  FROM unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) AS asked (activity_id, at, recorded_at)
    JOIN training.activities a USING (activity_id)
  FOR UPDATE OF a`

async function lockRows(tx: Tx, answer: readonly AnswerKey[]): Promise<Map<number, Before>> {
  const lock = answer.length > 1 ? `${LOCK} SKIP LOCKED` : LOCK
  const { rows } = await tx.client.query<Before>(lock, [
    answer.map(({ activityId }) => activityId),
    answer.map(({ requestedAt }) => requestedAt),
    answer.map(({ recordedAt }) => recordedAt ?? null),
  ])
  return new Map(rows.map((row) => [row.activity_id, row]))
}

/** Makes the columns about the fetch. An activity that was listed meanwhile keeps its next fetch: the answer may be older. */
function bookkeeping(input: RecordDetailInput, before: Before): ActivityChange {
  const listedAgain = before.listed_since && input.nextFetchAt === null
  return {
    summary: cleanJson(input.summary),
    summaryHash: input.summaryHash,
    fetchedAt: input.requestedAt,
    detailState: before.wanted_since ? 'wanted' : input.detailState,
    ...(before.wanted_since ? { nextFetchAt: null } : !listedAgain && { nextFetchAt: input.nextFetchAt }),
    fetchAttempts: input.fetchAttempts ?? 0,
    fetchError: null,
  }
}

function unavailable(activityId: number, together: number): MusetteError {
  const what = `store, record ${together === 1 ? 'a detail' : 'details'}`
  if (together === 1) return new MusetteError('activity_unknown', `${what}: no activity ${activityId}`)
  return new MusetteError('activity_busy', `${what}: activity ${activityId} is locked or does not exist`)
}

/** Marks the accepted uploads of these activities, if there are any, as mirrored. */
export async function recordUploadsMirrored(
  tx: Tx,
  input: { activityIds: readonly number[]; mirroredAt: Date },
): Promise<void> {
  if (input.activityIds.length === 0) return
  await tx.client.query(
    `update training.uploads set state = 'mirrored', mirrored_at = $2, next_try_at = null, checks = 0
     where activity_id = any ($1) and state = 'accepted'`,
    [input.activityIds, input.mirroredAt],
  )
}
