import { isDeepStrictEqual } from 'node:util'
import { cleanJson } from '../clean.ts'
import { replaceContent } from '../samples/replace-content.ts'
import { findSameSamples } from '../samples/same-samples.ts'
import type { Tx } from '../store.ts'
import { type ActivityChange, updateActivities } from './activity-changes.ts'
import {
  columnsToWrite,
  type DerivedDetail,
  type DetailFields,
  KNOWN_ROW,
  type KnownRow,
} from './detail-columns.ts'

/** What was derived from the stored answer of an activity, and the checksum of that answer. */
export type RebuiltDetail = DerivedDetail & { readonly activityId: number; readonly sha256: string }

/**
 * `written` and `replaced` count samples: those that were written, and those that the row counted before; 0 when all were right.
 * `newer`: the activity has another stored answer by now, or none, or is gone; `locked`: another transaction holds its row. Nothing
 * was written in either case.
 */
export type RecordedRebuild = { result: 'rebuilt' | 'newer' | 'locked'; written: number; replaced: number }

/**
 * Replaces the rows of different activities by those derived from their stored answers, in the transaction of `tx`. It
 * tells nothing about the service, so there is no revision, and states, times of fetches and names that the list changed stay. For
 * several inputs it does not wait for a locked row, like recordDetails.
 */
export async function recordRebuilt(tx: Tx, inputs: readonly RebuiltDetail[]): Promise<RecordedRebuild[]> {
  const known = await lockRows(
    tx,
    inputs.map(({ activityId }) => activityId),
  )
  const current = new Map<number, { input: RebuiltDetail; before: Before; keepsSamples: boolean }>()
  for (const input of inputs) {
    const before = known.get(input.activityId)
    if (before?.sha256 !== input.sha256) continue
    current.set(input.activityId, { input, before, keepsSamples: await findSameSamples(tx, input) })
  }
  const found = [...current.values()]
  await updateActivities(
    tx,
    found.map(({ input, before }) => toChange(input, before)),
  )
  // Damaged rows may count no samples and have some.
  await replaceContent(
    tx,
    found.map(({ input, keepsSamples }) => ({ ...input, hasContent: true, keepsSamples })),
  )
  return inputs.map(({ activityId, samples }) => {
    const nothing = { written: 0, replaced: 0 }
    const rebuilt = current.get(activityId)
    // One by itself has waited for its row, so it does not exist any more.
    if (!rebuilt)
      return { result: inputs.length > 1 && !known.has(activityId) ? 'locked' : 'newer', ...nothing }
    if (rebuilt.keepsSamples) return { result: 'rebuilt', ...nothing }
    return { result: 'rebuilt', written: samples.count, replaced: rebuilt.before.sample_count ?? 0 }
  })
}

type Before = KnownRow & {
  activity_id: number
  sample_count: number | null
  /** of the stored answer; null without one */
  sha256: string | null
  document_at: Date | null
  /** an answer came after the stored one: without samples, or with an unchanged summary */
  answered_since: boolean
  summary: unknown
  summary_hash: string | null
}

const LOCK = 'SELECT activity_id FROM training.activities WHERE activity_id = ANY ($1) FOR UPDATE'

// A statement of its own: the one above, when it waits for a lock, still sees the stored answers of before.
const FIND = `
  SELECT a.activity_id, a.sample_count, a.summary, a.summary_hash, ${KNOWN_ROW}, r.sha256, r.fetched_at AS document_at,
    coalesce(a.fetched_at > r.fetched_at, false) AS answered_since
  FROM training.activities a LEFT JOIN training.raw_documents r USING (activity_id) WHERE a.activity_id = ANY ($1)`

async function lockRows(tx: Tx, activityIds: readonly number[]): Promise<Map<number, Before>> {
  const lock = activityIds.length > 1 ? `${LOCK} SKIP LOCKED` : LOCK
  const locked = await tx.client.query<{ activity_id: number }>(lock, [activityIds])
  const { rows } = await tx.client.query<Before>(FIND, [locked.rows.map((row) => row.activity_id)])
  return new Map(rows.map((row) => [row.activity_id, row]))
}

function toChange(input: RebuiltDetail, before: Before): ActivityChange & { activityId: number } {
  const { activityId } = input
  const { fields, after } = columnsToWrite(input.row, { before, content: input })
  const samplesAt = input.samples.count > 0 && { samplesAt: before.document_at, ...input.run }
  if (!isShown(input, fields, before)) {
    return {
      activityId,
      sampleCount: input.samples.count,
      elapsedS: input.row.elapsedS ?? null,
      ...input.place,
      ...samplesAt,
    }
  }
  return {
    activityId,
    ...after,
    ...samplesAt,
    detailFields: fields,
    summary: cleanJson(input.summary),
    // Without a hash the activity is to be fetched again with its samples, which this must not prevent.
    ...(before.summary_hash !== null && { summaryHash: input.summaryHash }),
  }
}

/**
 * Tells whether the row shows the stored answer and not a later one without samples, which changed the summary and kept the samples.
 * The summary is compared too, because the hash may be missing, damaged, or computed otherwise by an older version.
 */
function isShown(input: RebuiltDetail, fields: DetailFields, before: Before): boolean {
  if (!before.answered_since || before.summary_hash === input.summaryHash) return true
  if (before.summary_hash === null && before.summary === null) return true
  const { name, description } = before.detail_fields ?? {}
  const sameNames = name === fields.name && description === fields.description
  return sameNames && isDeepStrictEqual(before.summary, cleanJson(input.summary))
}
