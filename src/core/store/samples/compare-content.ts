import { isDeepStrictEqual } from 'node:util'
import { hasValue } from '../../../kit/floats.ts'
import { isObject } from '../../../kit/json.ts'
import { cleanText } from '../clean.ts'
import { compareRows, decodeRows, momentOf, readBytes, withEnds } from '../copy.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'
import { type Content, DERIVED_TABLES } from './content.ts'
import {
  type ActivitySamples,
  DOUBLES,
  encodeSamples,
  othersOf,
  SAMPLE_FIELDS,
  type SamplesWithExtras,
} from './encode-samples.ts'
import { findExtras } from './stored-samples.ts'

/**
 * A field that differs from the service's answer: a column, `summary.NAME`, `list_fields.NAME` and `detail_fields.NAME` (the last values of
 * list and detail), `raw_documents`, `samples.NAME`, `power_curves`, `activity_intensity.NAME` or `ride_measures.NAME`. `cells` counts the
 * differing values; `mirrored` and `service` are the first differing values.
 */
export type Difference = { field: string; mirrored: Json; service: Json; cells: number }

/** Compares an activity's stored samples and derived values with the rows that `content` would write. */
export async function findContentDifferences(tx: Tx, activity: Content): Promise<Difference[]> {
  return [
    ...((await holdsRows(tx, activity)) ? [] : await findSampleDifferences(tx, activity)),
    ...(await findExtraDifferences(tx, activity)),
    ...(await findDerivedDifferences(tx, activity)),
  ]
}

/** Reports whether the tables hold exactly these samples and extras of an activity. */
export async function holdsSamples(tx: Tx, activity: SamplesWithExtras): Promise<boolean> {
  return (await holdsRows(tx, activity)) && (await findExtraDifferences(tx, activity)).length === 0
}

// The order of the samples in an answer.
const IN_ORDER = 'ORDER BY t NULLS FIRST, ordinal'

/** Compares the bytes that COPY would write with the bytes that COPY reads. This is a tenth of the work of deleting and writing rows. */
async function holdsRows(tx: Tx, activity: ActivitySamples): Promise<boolean> {
  const { columns, chunks } = encodeSamples([activity], { everyColumn: true })
  const query = `SELECT ${columns.join(', ')} FROM training.samples WHERE activity_id = ${activity.activityId}`
  const expected = Buffer.concat([...withEnds(chunks)])
  // Unsorted first: rows usually lie in the order of writing, and sorting takes a quarter of the time.
  const asTheyLie = await compareRows(tx.client, query, expected)
  if (asTheyLie.same || asTheyLie.bytes !== expected.length) return asTheyLie.same
  return (await compareRows(tx.client, `${query} ${IN_ORDER}`, expected)).same
}

async function findSampleDifferences(tx: Tx, activity: ActivitySamples): Promise<Difference[]> {
  const { activityId, samples } = activity
  const { columns, chunks } = encodeSamples([activity], { everyColumn: true })
  const query = `SELECT ${columns.join(', ')} FROM training.samples WHERE activity_id = ${activityId} ${IN_ORDER}, ctid`
  const found = new Map<string, Difference>()
  const sent = decodeRows(Buffer.concat([...withEnds(chunks)]))
  let rows = 0
  for (const held of decodeRows(await readBytes(tx.client, query))) {
    rows++
    const row = sent.next().value ?? []
    for (const [place, column] of columns.entries()) {
      const [ours, theirs] = [held[place], row[place]]
      if (ours === theirs || (ours && theirs?.equals(ours))) continue
      const before = found.get(column)
      if (before) before.cells++
      else {
        const [mirrored, service] = [decodeValue(column, ours), decodeValue(column, theirs)]
        found.set(column, { field: `samples.${column}`, mirrored, service, cells: 1 })
      }
    }
  }
  const cells = Math.abs(rows - samples.count)
  if (cells > 0) return [{ field: 'samples', mirrored: rows, service: samples.count, cells }]
  found.delete('ordinal')
  // If only `ordinal` differs, samples of the same time are in another order.
  return found.size > 0
    ? [...found.values()]
    : [{ field: 'samples', mirrored: 'in another order', service: 'in order', cells: samples.count }]
}

function decodeValue(column: string, field: Buffer | undefined): number | null {
  if (!field) return null
  if (column === 't') return momentOf(field)
  return DOUBLES.some((double) => double === column) ? field.readDoubleBE() : field.readFloatBE()
}

async function findExtraDifferences(tx: Tx, { activityId, sampleExtras = [] }: SamplesWithExtras) {
  const held = new Map(
    (await findExtras(tx, [activityId])).get(activityId)?.map((extra) => [extra.field, extra]),
  )
  const sent = new Map(sampleExtras.map((extra) => [cleanText(extra.field), extra]))
  return [...new Set([...held.keys(), ...sent.keys()])].sort().flatMap((field) => {
    const [ours, theirs] = [held.get(field), sent.get(field)]
    const others = theirs && othersOf(theirs)
    return compareCells(
      `samples.${field}`,
      ours && {
        count: ours.numbers.length,
        valueAt: (index) => ours.others?.[index + 1] ?? (ours.nulls[index] ? null : ours.numbers[index]),
      },
      theirs && {
        count: theirs.count,
        valueAt: (index) =>
          others?.[index + 1] ?? (Number.isNaN(theirs.values[index]) ? null : theirs.values[index]),
      },
    )
  })
}

type Cells = { count: number; valueAt: (index: number) => unknown }

/** Compares the values of a field index by index; a field that one side lacks is NULL at every index. */
function compareCells(field: string, held: Cells | undefined, sent: Cells | undefined): Difference[] {
  const isMissing = !held || !sent
  const cellOf = (side: Cells | undefined, index: number) =>
    side && index < side.count ? side.valueAt(index) : isMissing ? null : undefined
  const differing: number[] = []
  for (let index = 0; index < Math.max(held?.count ?? 0, sent?.count ?? 0); index++) {
    const [ours, theirs] = [cellOf(held, index), cellOf(sent, index)]
    if (!Object.is(ours, theirs) && !isDeepStrictEqual(ours, theirs)) differing.push(index)
  }
  if (differing.length === 0 && !isMissing) return []
  const [first = 0] = differing
  const [mirrored, service] = [cellOf(held, first) ?? null, cellOf(sent, first) ?? null] as [Json, Json]
  return [{ field, mirrored, service, cells: Math.max(1, differing.length) }]
}

async function findDerivedDifferences(tx: Tx, activity: Content): Promise<Difference[]> {
  const found: Difference[] = []
  for (const { name, schema, isOneRow, rowsOf, compare } of DERIVED_TABLES) {
    // A track is bytes; a difference in it is also a difference in the samples.
    if (schema === 'musette') continue
    const sent = JSON.stringify(rowsOf(activity.activityId, activity))
    const { rows } = await tx.client.query<{ held: Json; sent: Json }>(compare, [sent, activity.activityId])
    const [first] = rows
    if (!first) continue
    if (isOneRow) found.push(...compareMembers(name, first.held, first.sent))
    else found.push({ field: name, mirrored: first.held, service: first.sent, cells: rows.length })
  }
  return found
}

/** Compares two objects member by member; a missing member is null. */
export function compareMembers(what: string, held: unknown, sent: unknown): Difference[] {
  const [before, after] = [held, sent].map((value) =>
    isObject(value) ? (value as Record<string, Json>) : {},
  )
  return Object.keys({ ...before, ...after })
    .map((name) => ({
      field: `${what}.${name}`,
      mirrored: before?.[name] ?? null,
      service: after?.[name] ?? null,
      cells: 1,
    }))
    .filter(({ mirrored, service }) => !isDeepStrictEqual(mirrored, service))
}

/** Finds the fields that have stored values for an activity but no values in these samples, both with and without a column. */
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
