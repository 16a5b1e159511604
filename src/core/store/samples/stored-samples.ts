import type { SampleField } from '../../fields/sample-fields.ts'
import { copyRowsOut, decodeRows, momentOf, NULL, readBytes } from '../copy.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'
import { SAMPLE_FIELDS, type Samples } from './encode-samples.ts'

/** SQL condition: the sample `s` belongs to the main run of its activity `a`. */
export const IN_MAIN_RUN = 's.t IS NOT NULL AND training.in_main_run(s.t, a.recorded_from, a.elapsed_s)'

/** Finds the stored samples of an activity in time order, except samples without a time. With `withoutStrays`, finds only samples of the main run. */
export async function findStoredSamples(
  tx: Tx,
  activityId: number,
  { withoutStrays = false } = {},
): Promise<Samples> {
  const counted = await tx.client.query<{ count: number }>(
    'SELECT count(t)::int AS count FROM training.samples WHERE activity_id = $1',
    [activityId],
  )
  const count = counted.rows[0]?.count ?? 0
  const columns = Object.fromEntries(
    SAMPLE_FIELDS.map((field) => [field, new Float64Array(count).fill(Number.NaN)]),
  ) as Record<SampleField, Float64Array>
  const t = new Float64Array(count)
  const query = `SELECT ${['t', ...SAMPLE_FIELDS].map((column) => `s.${column}`).join(', ')} FROM training.samples s
    JOIN training.activities a USING (activity_id)
    WHERE activity_id = ${Number(activityId)} AND isfinite(t) AND ${withoutStrays ? IN_MAIN_RUN : true} ORDER BY t, ordinal, s.ctid`
  let rows = 0
  for (const [moment, ...values] of decodeRows(await readBytes(tx.client, query))) {
    t[rows] = momentOf(moment as Buffer)
    for (const [place, field] of SAMPLE_FIELDS.entries()) {
      const value = values[place]
      if (value) columns[field][rows] = value.length === 8 ? value.readDoubleBE() : value.readFloatBE()
    }
    rows += 1
  }
  return { count: rows, t, columns }
}

// A migration that changes a definition clears stray_samples. Every power curve has a point of one second.
const IS_UNMEASURED = `a.sample_count > 0 AND (a.stray_samples IS NULL
  OR NOT EXISTS (SELECT FROM training.ride_measures m JOIN musette.ride_tracks USING (activity_id) WHERE m.activity_id = a.activity_id)
  OR NOT EXISTS (SELECT FROM training.activity_intensity i WHERE i.activity_id = a.activity_id
    AND num_nulls(i.account_id, i.sample_spacing_s) = 0)
  OR a.started_at_local IS NOT NULL AND EXISTS (SELECT FROM training.power_curves c WHERE c.activity_id = a.activity_id
    AND c.duration_s = 1 AND num_nulls(c.account_id, c.season, c.started_at_local, c.sport) > 0))`

/** Finds the activities that have samples but lack values derived from them, newest first. */
export async function findUnmeasured(tx: Tx): Promise<number[]> {
  const { rows } = await tx.client.query<{ activity_id: number }>(
    `SELECT activity_id FROM training.activities a WHERE ${IS_UNMEASURED} ORDER BY started_at DESC NULLS LAST, activity_id`,
  )
  return rows.map((row) => row.activity_id)
}

/**
 * Locks an activity of findUnmeasured. Returns the threshold power that its samples were counted with, W, and the service's duration, s;
 * undefined if it no longer lacks a value, or if another transaction holds its row and so writes it.
 */
export async function lockUnmeasured(tx: Tx, activityId: number) {
  const { rows } = await tx.client.query<{ ftp: number | null; durationS: number | null }>(
    `SELECT CASE WHEN i.activity_id IS NULL THEN a.sig_ftp ELSE i.ftp END AS ftp, a.duration AS "durationS"
     FROM training.activities a LEFT JOIN training.activity_intensity i USING (activity_id) WHERE activity_id = $1 AND ${IS_UNMEASURED} FOR UPDATE OF a SKIP LOCKED`,
    [activityId],
  )
  return rows[0]
}

/** One activity's values of a sample field without a column. */
export type ExtraField = Readonly<{
  field: string
  /** the name as a JSON string, with a colon after it */
  key: string
  numbers: Float64Array
  nulls: Uint8Array
  /** values that are not numbers, by index from 1 */
  others: Readonly<Record<number, Json>> | undefined
}>

/** Finds the sample extras of activities, by activity. Uses COPY, because parsing arrays of numbers as text takes longer than everything else. */
export async function findExtras(tx: Tx, activityIds: readonly number[]): Promise<Map<number, ExtraField[]>> {
  const query = `select activity_id::text, field, "values", others::text from training.sample_extras
                 where activity_id = any ('{${activityIds.map(Number)}}')
                 order by activity_id, field collate "C"`
  const extras = new Map<number, ExtraField[]>()
  for (const [id, field, values, others] of await copyRowsOut(tx.client, query)) {
    const fields = extras.get(Number(id)) ?? []
    extras.set(Number(id), fields)
    fields.push({
      field: String(field),
      key: `${JSON.stringify(String(field))}:`,
      ...decodeNumbers(values as Buffer),
      others: others && JSON.parse(String(others)),
    })
  }
  return extras
}

/** Bytes of a binary array before its elements. An empty array has dimensions, NULL flag and type; others also have length and first subscript. */
const [EMPTY_BYTES, ARRAY_HEADER] = [3 * 4, 5 * 4]

/** Decodes an array of doubles. */
function decodeNumbers(bytes: Buffer): Pick<ExtraField, 'numbers' | 'nulls'> {
  const count = bytes.length > EMPTY_BYTES ? bytes.readInt32BE(EMPTY_BYTES) : 0
  const numbers = new Float64Array(count)
  const nulls = new Uint8Array(count)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = ARRAY_HEADER
  for (let index = 0; index < count; index++) {
    const length = view.getInt32(at)
    at += 4
    if (length === NULL) {
      nulls[index] = 1
      continue
    }
    numbers[index] = view.getFloat64(at)
    at += length
  }
  return { numbers, nulls }
}
