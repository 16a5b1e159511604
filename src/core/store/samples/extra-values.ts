import { copyRowsOut, NULL } from '../copy.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** What the samples of an activity have in a field without a column. */
export type ExtraField = Readonly<{
  field: string
  /** its name as JSON has it, with the colon */
  key: string
  numbers: Float64Array
  nulls: Uint8Array
  /** values that are not numbers, by their place from 1 */
  others: Readonly<Record<number, Json>> | undefined
}>

/**
 * Finds the fields without a column that the samples of activities have, by activity. They come by COPY: to parse an array of numbers
 * as text takes longer than everything else.
 */
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

/** Of an array in binary: its dimensions, the flag for NULLs and the type; then, unless it is empty, its length and first subscript. */
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
