import { findColumnPages } from '../export/column-pages.ts'
import { columnsOf, makeSelection } from '../export/exported-columns.ts'
import { samples as samplesTable } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { SAMPLE_FIELDS, type SampleField, type Samples } from './encode-samples.ts'

const MICROS_A_MS = 1_000
const COLUMNS = columnsOf(samplesTable, ['activity_id', 'ordinal'])

/** The condition that a sample `s` is of the main run of its activity `a`. */
export const IN_MAIN_RUN = 's.t IS NOT NULL AND training.in_main_run(s.t, a.recorded_from, a.elapsed_s)'

/**
 * Finds the samples of an activity that are here, in the order of time; those whose time is NULL are left out, and with
 * `withoutStrays` those that are not of the main run.
 */
export async function findStoredSamples(
  tx: Tx,
  activityId: number,
  { withoutStrays = false } = {},
): Promise<Samples> {
  const { rows } = await tx.client.query<{ count: number }>(
    'SELECT count(t)::int AS count FROM training.samples WHERE activity_id = $1',
    [activityId],
  )
  const count = rows[0]?.count ?? 0
  const columns = Object.fromEntries(
    SAMPLE_FIELDS.map((field) => [field, new Float64Array(count).fill(Number.NaN)]),
  ) as Record<SampleField, Float64Array>
  const t = new Float64Array(count)
  const query = `SELECT ${COLUMNS.map((column) => makeSelection('s', column)).join(', ')} FROM training.samples s
    JOIN training.activities a USING (activity_id)
    WHERE activity_id = ${Number(activityId)} AND isfinite(t) AND ${withoutStrays ? IN_MAIN_RUN : true} ORDER BY t, ordinal, s.ctid`
  let from = 0
  for await (const page of findColumnPages(tx, query, COLUMNS)) {
    for (const [at, { values, nulls }] of page.columns.entries()) {
      const name = COLUMNS[at]?.name as SampleField | 't'
      for (let row = 0; row < page.rows; row++) {
        if (name === 't') t[from + row] = Number(values[row]) / MICROS_A_MS
        else if (nulls[row] === 0) columns[name][from + row] = Number(values[row])
      }
    }
    from += page.rows
  }
  return { count: from, t, columns }
}
