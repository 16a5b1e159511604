import { isDeepStrictEqual } from 'node:util'
import { MusetteError } from '../../../kit/errors.ts'
import { cleanJson, cleanText } from '../clean.ts'
import {
  compareMembers,
  type Difference,
  findContentDifferences,
  holdsSamples,
} from '../samples/compare-content.ts'
import { replaceContent } from '../samples/content.ts'
import type { Samples } from '../samples/encode-samples.ts'
import { activityRevisions } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import {
  type ActivityChange,
  type Changes,
  columnsToWrite,
  type DerivedDetail,
  type DetailFields,
  findChanges,
  KNOWN_ROW,
  type KnownRow,
  updateActivities,
} from './activity-changes.ts'
import { type PackedDocument, replaceRawDocuments } from './raw-documents.ts'
import { fieldsOfEntry, type ListedActivity } from './upsert-listed.ts'

/**
 * The activity that an answer is about, and when the answer was requested and recorded, by the same clock. A time in the row after
 * `recordedAt` was written while that clock was ahead, and does not count as newer.
 */
type AnswerKey = { activityId: number; requestedAt: Date; recordedAt?: Date }

/** One answer about one activity. The answer is dropped if the row holds an answer that was requested later. */
export type AnsweredDetail = AnswerKey &
  Omit<DerivedDetail, 'samples'> & {
    /** undefined if the answer had no session data; then the samples and the values derived from them stay */
    samples?: Samples | undefined
    rawDocument?: PackedDocument | undefined
    detailState: 'mirrored' | 'awaiting_samples'
    nextFetchAt: Date | null
    /** fetches since the last complete fetch; 0 by default */
    fetchAttempts?: number
    /** differences in samples and derived values that a comparison with the tables found, for the revision */
    contentChanges?: Changes
  }

/** Values derived from an activity's stored answer, and the checksum of that answer. */
export type StoredDetail = DerivedDetail & { readonly activityId: number; readonly sha256: string }

/**
 * `written` and `replaced` count samples: samples written now, and samples that the row had before; both are 0 if all samples were right.
 * `older`: the row holds an answer that was requested later. `newer`: the activity now has another stored answer or none, or no longer exists.
 * `locked`: another transaction holds its row. Only `written` writes anything.
 */
export type Written = { result: 'written' | 'older' | 'newer' | 'locked'; written: number; replaced: number }

/**
 * Writes answers about different activities (service document, "Activity detail") with samples, derived values, raw documents and revisions,
 * in the transaction of `tx`. A batch costs much less than single writes. Samples of a stored answer that are already right are not rewritten.
 * An answer without samples does not delete existing samples. A change that was listed after `requestedAt` keeps an activity wanted. A stored
 * answer says nothing about the service, so it writes no revision, and states, fetch times and names changed by the list stay. For a single
 * answer, throws MusetteError `activity_unknown` if the activity does not exist. A batch does not wait for locked rows, because two batches
 * could deadlock: it throws `activity_busy` for an answer whose row is locked or does not exist.
 */
export async function writeActivities(
  tx: Tx,
  inputs: ReadonlyArray<AnsweredDetail | StoredDetail>,
): Promise<Written[]> {
  const known = await lockRows(tx, inputs)
  const rows: Array<ActivityChange & { activityId: number }> = []
  const contents: Array<Parameters<typeof replaceContent>[1][number]> = []
  const documents: AnsweredDetail[] = []
  const ends: Written[] = []
  for (const input of inputs) {
    const before = known.get(input.activityId)
    const end: Written = { result: 'written', written: 0, replaced: 0 }
    ends.push(end)
    const isStored = 'sha256' in input
    if (isStored && before?.sha256 !== input.sha256) {
      // A single input has waited for its row, so a missing row no longer exists.
      end.result = inputs.length > 1 && !before ? 'locked' : 'newer'
      continue
    }
    if (!before) {
      const [code, what] =
        inputs.length === 1
          ? ['activity_unknown', 'does not exist']
          : ['activity_busy', 'is locked or does not exist']
      throw new MusetteError(code, `store, record answers: activity ${input.activityId} ${what}`)
    }
    if (!isStored && before.older) {
      end.result = 'older'
      continue
    }
    const { samples, place } = input
    const count = before.sample_count ?? 0
    const content = samples && (isStored || samples.count > 0 || count === 0) ? { samples, place } : undefined
    rows.push(columnsOf(input, before, columnsToWrite(input.row, { before, content })))
    if (!isStored) await recordContentChanges(tx, input)
    if (!content) continue
    if (!isStored) documents.push(input)
    // The row's count may be wrong. Before the first fetch there are no samples to delete.
    const hasContent = isStored || count > 0 || (before.fetched && content.samples.count > 0)
    const keepsSamples = isStored && (await holdsSamples(tx, input))
    contents.push({ ...input, ...content, hasContent, keepsSamples })
    if (!keepsSamples) Object.assign(end, { written: content.samples.count, replaced: count })
  }
  await updateActivities(tx, rows)
  await replaceContent(tx, contents)
  await replaceRawDocuments(tx, documents)
  return ends
}

type Before = KnownRow & {
  activity_id: number
  fetched: boolean
  /** the row holds an answer that was requested later */
  older: boolean
  /** a change was listed after the request */
  wanted_since: boolean
  listed_since: boolean
  sample_count: number | null
  /** checksum of the stored answer; null without one */
  sha256: string | null
  document_at: Date | null
  /** an answer came after the stored one, without samples or with an unchanged summary */
  answered_since: boolean
  listed_at: Date
  summary: unknown
  summary_hash: string | null
}

const LOCK = 'SELECT activity_id FROM training.activities WHERE activity_id = ANY ($1) FOR UPDATE'

// A separate statement, because LOCK sees the stored answers as of before it waits for a row. Postgres compares the times, because it holds
// their microseconds. A time after `recordedAt` was written while the clock was ahead.
const FIND = `
  SELECT a.activity_id, a.fetched_at IS NOT NULL AS fetched, a.sample_count, a.summary_hash, ${KNOWN_ROW},
    coalesce(a.fetched_at > asked.at AND a.fetched_at <= coalesce(asked.recorded_at, 'infinity'), false) AS older,
    coalesce(a.wanted_at > asked.at AND a.wanted_at <= coalesce(asked.recorded_at, 'infinity'), false) AS wanted_since,
    coalesce(a.listed_at > asked.at AND a.listed_at <= coalesce(asked.recorded_at, 'infinity'), false) AS listed_since,
    a.listed_at, a.summary, r.sha256, r.fetched_at AS document_at,
    coalesce(a.fetched_at > r.fetched_at, false) AS answered_since
  FROM unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) AS asked (activity_id, at, recorded_at)
    JOIN training.activities a USING (activity_id) LEFT JOIN training.raw_documents r USING (activity_id)`

/** Locks the rows of activities until the transaction ends and returns them by id. If there are several, skips rows that are already locked. */
async function lockRows(
  tx: Tx,
  inputs: ReadonlyArray<{ activityId: number; requestedAt?: Date; recordedAt?: Date }>,
): Promise<Map<number, Before>> {
  const ids = inputs.map(({ activityId }) => activityId)
  const { rows: locked } = await tx.client.query<{ activity_id: number }>(
    ids.length > 1 ? `${LOCK} SKIP LOCKED` : LOCK,
    [ids],
  )
  const held = new Set(locked.map((row) => row.activity_id))
  const found = inputs.filter(({ activityId }) => held.has(activityId))
  const { rows } = await tx.client.query<Before>(FIND, [
    found.map(({ activityId }) => activityId),
    found.map(({ requestedAt }) => requestedAt ?? null),
    found.map(({ recordedAt }) => recordedAt ?? null),
  ])
  return new Map(rows.map((row) => [row.activity_id, row]))
}

/** Returns the columns that an input sets: all of `after`, or only sample columns if the row shows a later answer than a stored one. */
function columnsOf(
  input: AnsweredDetail | StoredDetail,
  before: Before,
  { fields, after }: ReturnType<typeof columnsToWrite>,
): ActivityChange & { activityId: number } {
  const { activityId, samples, place, run, summaryHash } = input
  const isStored = 'sha256' in input
  const ofSamples = samples &&
    samples.count > 0 && { samplesAt: isStored ? before.document_at : input.requestedAt, ...run }
  if (isStored && !isShown(input, fields, before)) {
    const elapsedS = input.row.elapsedS ?? null
    return { activityId, ...ofSamples, sampleCount: input.samples.count, elapsedS, ...place }
  }
  const shown = {
    activityId,
    ...ofSamples,
    ...after,
    detailFields: fields,
    summary: cleanJson(input.summary),
  }
  // A missing hash makes the next fetch include the samples, which a stored answer must not prevent.
  if (isStored) return before.summary_hash === null ? shown : { ...shown, summaryHash }
  const verified = samples && { verifiedAt: input.requestedAt }
  return { ...shown, summaryHash, ...verified, ...bookkeeping(input, before) }
}

/** Returns the columns about the fetch. An activity that was listed after the request keeps its next fetch, because the answer may be older. */
function bookkeeping(
  input: Pick<AnsweredDetail, 'requestedAt' | 'detailState' | 'nextFetchAt' | 'fetchAttempts'>,
  before: Before,
): ActivityChange {
  const listedAgain = before.listed_since && input.nextFetchAt === null
  return {
    fetchedAt: input.requestedAt,
    detailState: before.wanted_since ? 'wanted' : input.detailState,
    ...(before.wanted_since ? { nextFetchAt: null } : !listedAgain && { nextFetchAt: input.nextFetchAt }),
    fetchAttempts: input.fetchAttempts ?? 0,
    fetchError: null,
  }
}

/**
 * Reports whether the row shows the stored answer, and not a later answer without samples that changed only the summary. Compares the
 * summary too, because the hash may be missing, damaged, or computed differently by an older version.
 */
function isShown(input: StoredDetail, fields: DetailFields, before: Before): boolean {
  if (!before.answered_since || before.summary_hash === input.summaryHash) return true
  if (before.summary_hash === null && before.summary === null) return true
  const { name, description } = before.detail_fields ?? {}
  const sameNames = name === fields.name && description === fields.description
  return sameNames && isDeepStrictEqual(before.summary, cleanJson(input.summary))
}

/** Starts an answer's revision with the differences in the samples; the trigger that writes revisions adds the columns of the activity. */
async function recordContentChanges(
  tx: Tx,
  { activityId, requestedAt, contentChanges = {} }: AnsweredDetail,
) {
  if (Object.keys(contentChanges).length === 0) return
  await tx.db
    .insert(activityRevisions)
    .values({ activityId, observedAt: requestedAt, changes: contentChanges })
}

/**
 * Records that the summary requested at `requestedAt` equals the mirrored one, for an activity that has its samples. The activity stays
 * wanted if a change was listed since. An answer older than the row's own changes nothing.
 */
export async function recordUnchanged(tx: Tx, answer: AnswerKey): Promise<void> {
  const { requestedAt } = answer
  await updateUnlessOlder(tx, answer, (before) =>
    bookkeeping({ requestedAt, detailState: 'mirrored', nextFetchAt: null }, before),
  )
}

/**
 * Records that a fetch failed. The next fetch begins at `nextFetchAt`, or when the activity is listed again if that is null. `attempts`
 * counts the fetches since the last successful one. A failure older than the row's own answer changes nothing.
 */
export async function recordFetchFailure(
  tx: Tx,
  input: AnswerKey & { error: string; nextFetchAt: Date | null; attempts: number },
): Promise<void> {
  const { nextFetchAt, attempts, error } = input
  const failed = {
    detailState: 'failed',
    nextFetchAt,
    fetchAttempts: attempts,
    fetchError: cleanText(error),
  } as const
  await updateUnlessOlder(tx, input, () => failed)
}

/** Records that the tables hold exactly the answer of `requestedAt`, including its samples. An answer older than the row's changes nothing. */
export async function recordVerified(tx: Tx, answer: AnswerKey): Promise<void> {
  await updateUnlessOlder(tx, answer, () => ({ verifiedAt: answer.requestedAt }))
}

async function updateUnlessOlder(tx: Tx, answer: AnswerKey, change: (before: Before) => ActivityChange) {
  const { activityId } = answer
  const before = (await lockRows(tx, [answer])).get(activityId)
  if (before && !before.older) await updateActivities(tx, [{ activityId, ...change(before) }])
}

/**
 * Compares what the tables hold of an activity with what an answer with samples would write: columns, summary, every sample with its
 * extras, power curve, intensity and measures. Also compares the last values of the list with `entry`, if `entry` was listed later. Returns
 * undefined if the row has a newer answer. Locks the row until the transaction ends; writes nothing.
 */
export async function findDifferences(
  tx: Tx,
  input: DerivedDetail & AnswerKey & { entry?: { activity: ListedActivity; listedAt: Date } | undefined },
): Promise<{ ofRow: Difference[]; ofContent: Difference[] } | undefined> {
  const { activityId, row, samples, place, run, entry } = input
  const held = (await lockRows(tx, [input])).get(activityId)
  if (!held || held.older) return undefined
  const list = {
    ...held.list_fields,
    ...(entry && entry.listedAt >= held.listed_at && fieldsOfEntry(entry.activity)),
  }
  const content = samples.count > 0 || (held.sample_count ?? 0) === 0 ? { samples, place } : undefined
  const { after, fields } = columnsToWrite(row, { before: { ...held, list_fields: list }, content })
  const changes = await findChanges(tx, activityId, { ...after, ...(content && run) })
  const ofRow = [
    ...Object.entries(changes).map(([field, [mirrored, service]]) => ({
      field,
      mirrored,
      service,
      cells: 1,
    })),
    ...compareMembers('list_fields', held.list_fields, list),
    ...compareMembers('detail_fields', held.detail_fields, fields),
    // A differing column already shows that the summary differs.
    ...(Object.keys(changes).length > 0
      ? []
      : compareMembers('summary', held.summary, cleanJson(input.summary))),
  ]
  return { ofRow, ofContent: content ? await findContentDifferences(tx, input) : [] }
}
