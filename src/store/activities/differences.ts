import { cleanJson } from '../clean.ts'
import { compareMembers, type Difference, findContentDifferences } from '../samples/compare-content.ts'
import type { Tx } from '../store.ts'
import { findChanges } from './activity-changes.ts'
import { columnsToWrite, type DerivedDetail } from './detail-columns.ts'
import { fieldsOfEntry, type ListedActivity } from './upsert-listed.ts'
import { type AnswerKey, lockRows } from './write-activities.ts'

/**
 * Compares everything that the tables hold of an activity with what would be written for an answer with samples: columns,
 * summary, every sample with its extras, power curve, intensity and measures; and what the list said last with `entry`, when it was
 * listed after that. Returns undefined when the row has a newer answer. The row is locked against changes until the transaction
 * ends; nothing is written.
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
    // A differing column already shows the difference of the summary.
    ...(Object.keys(changes).length > 0
      ? []
      : compareMembers('summary', held.summary, cleanJson(input.summary))),
  ]
  return { ofRow, ofContent: content ? await findContentDifferences(tx, input) : [] }
}
