import { isDeepStrictEqual } from 'node:util'
import { hasValue } from '../../kit/floats.ts'
import { cleanText } from '../clean.ts'
import { compareRows, withEnds } from '../copy.ts'
import type { Tx } from '../store.ts'
import { type ActivitySamples, encodeSamples, SAMPLE_FIELDS } from './encode-samples.ts'
import { encodeSampleExtras, othersOf, type SamplesWithExtras } from './sample-extras.ts'

const OPTIONAL = [...SAMPLE_FIELDS, 'ordinal'] as const

/**
 * Finds whether the tables hold exactly these samples of an activity with their extras. It compares the bytes that COPY would write with those that
 * COPY reads: a tenth of the work of deleting rows and writing them into the room that others left.
 */
export async function findSameSamples(tx: Tx, activity: SamplesWithExtras): Promise<boolean> {
  return (await holdsSamples(tx, activity)) && (await holdsExtras(tx, activity))
}

async function holdsSamples(tx: Tx, activity: ActivitySamples): Promise<boolean> {
  const { columns, chunks } = encodeSamples([activity])
  const others = OPTIONAL.filter((column) => !columns.includes(column))
  // A value in a column that should have none makes the row another one.
  const key =
    others.length > 0
      ? `CASE WHEN num_nonnulls(${others.join(', ')}) = 0 THEN activity_id END`
      : 'activity_id'
  const selected = columns.map((column) => (column === 'activity_id' ? key : column))
  const query = `SELECT ${selected.join(', ')} FROM training.samples WHERE activity_id = ${activity.activityId}`
  const expected = Buffer.concat([...withEnds(chunks)])
  // Rows mostly lie in the order in which they were written, and sorting them takes a quarter of the time.
  const asTheyLie = await compareRows(tx.client, query, expected)
  if (asTheyLie.same || asTheyLie.bytes !== expected.length) return asTheyLie.same
  return (await compareRows(tx.client, `${query} ORDER BY t, ordinal`, expected)).same
}

async function holdsExtras(tx: Tx, { activityId, samples, sampleExtras = [] }: SamplesWithExtras) {
  const numbers = sampleExtras.map((extra) => ({ ...extra, others: undefined }))
  const encoded = encodeSampleExtras({ activityId, samples, sampleExtras: numbers })
  const others = sampleExtras.flatMap((extra) => {
    const values = othersOf(extra)
    return values ? [[cleanText(extra.field), values] as const] : []
  })
  // Postgres writes an object otherwise than it was sent, so they are compared by themselves.
  const fourth = others.length > 0 ? 'NULL' : 'others'
  const query = `SELECT activity_id, field, "values", ${fourth} FROM training.sample_extras WHERE activity_id = ${activityId} ORDER BY field COLLATE "C"`
  if (!(await compareRows(tx.client, query, Buffer.concat([...withEnds(encoded)]))).same) return false
  if (others.length === 0) return true
  const { rows } = await tx.client.query<{ field: string; others: unknown }>(
    'SELECT field, others FROM training.sample_extras WHERE activity_id = $1 AND others IS NOT NULL',
    [activityId],
  )
  return isDeepStrictEqual(
    Object.fromEntries(rows.map(({ field, others: held }) => [field, held])),
    Object.fromEntries(others),
  )
}

/** Finds the fields, with and without a column, that the tables have values of for an activity and that these samples lack. */
export async function findLostFields(tx: Tx, { activityId, samples, sampleExtras = [] }: SamplesWithExtras) {
  const missing = SAMPLE_FIELDS.filter((field) => !hasValue(samples.columns[field], samples.count))
  const sent = sampleExtras.map(({ field }) => cleanText(field))
  const held = missing.map((field) => `CASE WHEN bool_or(${field} IS NOT NULL) THEN '${field}' END`)
  const { rows } = await tx.client.query<{ fields: string[] }>(
    `SELECT array_remove(ARRAY[${held.join(', ')}]::text[], NULL) || (SELECT coalesce(array_agg(field ORDER BY field), '{}')
       FROM training.sample_extras WHERE activity_id = $1 AND field <> ALL ($2::text[])) AS fields
     FROM training.samples WHERE activity_id = $1`,
    [activityId, sent],
  )
  return rows[0]?.fields ?? []
}
