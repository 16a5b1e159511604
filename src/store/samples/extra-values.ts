import { copyRowsOut, NULL } from '../copy.ts'
import { type ExportValues, makeValues } from '../export/exported-columns.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

type Field = Readonly<{
  key: string
  numbers: ExportValues
  others: Readonly<Record<number, Json>>
}>

/**
 * Finds what the samples of an activity have in fields without a column: for each sample in their order one JSON object as a
 * text, without the fields that it lacks; NULL when it has none. They come by COPY: to parse an array of numbers as text takes
 * longer than everything else.
 */
export async function findExtras(tx: Tx, activityId: number): Promise<ExportValues> {
  const query = `select field, "values", others::text from training.sample_extras
                 where activity_id = ${activityId} order by field collate "C"`
  const fields = (await copyRowsOut(tx.client, query)).map(
    ([field, values, others]): Field => ({
      key: JSON.stringify(String(field)),
      numbers: decodeNumbers(values as Buffer),
      others: JSON.parse(String(others ?? '{}')),
    }),
  )
  const count = Math.max(0, ...fields.map(({ numbers }) => numbers.nulls.length))
  const texts = makeValues('text', count)
  for (let index = 0; index < count; index++) {
    const members = ['{']
    for (const field of fields) {
      const value = jsonOf(field, index)
      if (value !== undefined) members.push(field.key, ':', value, ',')
    }
    if (members.length === 1) {
      texts.nulls[index] = 1
      continue
    }
    members[members.length - 1] = '}'
    // One text in one piece: a sum of texts holds on to all of its parts.
    texts.values[index] = members.join('')
  }
  return texts
}

/** Returns a value of a field as JSON, undefined for none; what is no number stands in `others` by place, from 1. */
function jsonOf({ numbers, others }: Field, index: number): string | undefined {
  const other = others[index + 1] ?? null
  if (other !== null) return JSON.stringify(other)
  if (index >= numbers.nulls.length || numbers.nulls[index]) return undefined
  const value = numbers.values[index] as number
  return Number.isFinite(value) ? String(value) : `"${value}"`
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
