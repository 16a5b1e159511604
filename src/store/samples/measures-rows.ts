import { getTableColumns } from 'drizzle-orm'
import { activityMeasures } from '../schema/index.ts'
import type { Tx } from '../store.ts'

/** The measures of an activity, one member for each column of `ride_measures`; null when unknown. The columns say more. */
export type Measures = Readonly<Omit<typeof activityMeasures.$inferSelect, 'activityId' | 'accountId'>>

const { activityId: _activity, accountId: _account, ...MEASURES } = getTableColumns(activityMeasures)
const MEMBERS = Object.keys(MEASURES) as Array<keyof Measures>
const COLUMNS = MEMBERS.map((member) => MEASURES[member].name)

/** Returns measures by the names of their columns. */
export function columnsOfMeasures(measures: Measures): Record<string, number | number[] | null> {
  return Object.fromEntries(MEMBERS.map((member) => [MEASURES[member].name, measures[member]]))
}

const REPLACE = `WITH gone AS (
  DELETE FROM training.ride_measures WHERE activity_id = ANY ($2::int[])
)
INSERT INTO training.ride_measures AS m (activity_id, account_id, ${COLUMNS.join(', ')})
SELECT v.activity_id, v.account_id, ${COLUMNS.map((column) => `measured.${column}`).join(', ')}
FROM jsonb_populate_recordset(NULL::training.ride_measures, $1::jsonb) AS measured
JOIN training.activities v USING (activity_id)
ON CONFLICT (activity_id) DO UPDATE SET (account_id, ${COLUMNS.join(', ')}) =
  (excluded.account_id, ${COLUMNS.map((column) => `excluded.${column}`).join(', ')})
WHERE m.* IS DISTINCT FROM excluded.*`

/** Writes measures in place of those that the activities `known` have; right rows are not written again. */
export async function replaceMeasures(
  tx: Tx,
  measured: ReadonlyArray<{ activityId: number; measures: Measures }>,
  known: readonly number[],
): Promise<void> {
  const kept = new Set(measured.map(({ activityId }) => activityId))
  const gone = known.filter((activityId) => !kept.has(activityId))
  if (measured.length + gone.length === 0) return
  const rows = measured.map(({ activityId, measures }) => ({
    activity_id: activityId,
    ...columnsOfMeasures(measures),
  }))
  await tx.client.query(REPLACE, [JSON.stringify(rows), gone])
}
