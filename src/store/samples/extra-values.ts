import { copyRowsOut, NULL } from '../copy.ts'
import { type ExportColumn, type ExportValues, makeValues } from '../export/exported-columns.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** A field of the samples that has no column in Postgres, and its column in a file: JSON text unless all values are numbers. */
export type ExtraColumn = ExportColumn & { field: string }

/**
 * Finds the fields of an activity that have no column: for each that it has, its values in the order of the samples. They come
 * by COPY: to parse an array of numbers as text takes longer than everything else.
 */
export async function findExtraValues(
  tx: Tx,
  activityId: number,
  extras: readonly ExtraColumn[],
): Promise<Map<string, ExportValues>> {
  if (extras.length === 0) return new Map()
  const types = new Map(extras.map(({ field, type }) => [field, type]))
  const query = `select field, "values", others::text from training.sample_extras where activity_id = ${activityId}`
  const rows = await copyRowsOut(tx.client, query)
  return new Map(
    rows.map(([field, values, others]) => {
      const numbers = decodeNumbers(values as Buffer)
      const isText = types.get(String(field)) === 'text'
      return [String(field), isText ? asTexts(numbers, JSON.parse(String(others ?? '{}'))) : numbers]
    }),
  )
}

/** Of an array in binary: its dimensions, the flag for NULLs and the type; then, unless it is empty, its length and first subscript. */
const [EMPTY_BYTES, ARRAY_HEADER] = [3 * 4, 5 * 4]

/** Decodes an array of doubles. */
function decodeNumbers(bytes: Buffer): ExportValues {
  const count = bytes.length > EMPTY_BYTES ? bytes.readInt32BE(EMPTY_BYTES) : 0
  const values = new Float64Array(count)
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
    values[index] = view.getFloat64(at)
    at += length
  }
  return { values, nulls }
}

/** Makes JSON texts of numbers and of what is no number, which is in `others` by place, from 1. */
function asTexts({ values, nulls }: ExportValues, others: Record<number, Json>): ExportValues {
  const texts = makeValues('text', nulls.length)
  for (const [index, isNull] of nulls.entries()) {
    const value = others[index + 1] ?? (isNull ? null : (values[index] as number))
    if (value === null) texts.nulls[index] = 1
    else texts.values[index] = JSON.stringify(value)
  }
  return texts
}
