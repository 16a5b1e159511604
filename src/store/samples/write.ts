import { copyRows } from '../copy.ts'
import type { Tx } from '../store.ts'
import { encodeSamples } from './encode.ts'
import type { ActivitySamples } from './samples.ts'

/** Deletes the samples of activities and what was made of them: the fields without a column, and the power curves. */
export async function deleteSamples(tx: Tx, activityIds: readonly number[]): Promise<void> {
  for (const activityId of activityIds) {
    // One by one: the index of the samples is made for one ride, and the planner may read all of them for several.
    for (const table of ['samples', 'sample_extras', 'power_curves'])
      await tx.client.query(`DELETE FROM training.${table} WHERE activity_id = $1`, [activityId])
  }
}

/**
 * Writes the samples of activities that have none, by one binary COPY, and returns how many: Postgres spends a millisecond
 * on each COPY, whatever it brings.
 */
export async function insertSamples(tx: Tx, activities: readonly ActivitySamples[]): Promise<number> {
  const filled = activities.filter(({ samples }) => samples.count > 0)
  if (filled.length === 0) return 0
  const { columns, chunks } = encodeSamples(filled)
  return await copyRows(tx.client, `training.samples (${columns.join(', ')})`, chunks)
}
