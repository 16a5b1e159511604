import type { ExportValues } from '../../features/export/rows/exported-columns.ts'
import { BYTES_A_CHARACTER } from '../../kit/text.ts'
import { copyRowsOut, NULL } from '../copy.ts'
import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** What the samples of an activity have in a field without a column. */
type ExtraField = Readonly<{
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

/** Room for a text, bytes; with the fields of a live service it has about 130. */
const TEXT_BYTES = 160

/**
 * Writes what the samples from `from` to before `to` have in these fields: for each one JSON object, without the fields that it
 * lacks; NULL when it has none.
 */
export function writeExtras(fields: readonly ExtraField[], from: number, to: number): ExportValues {
  const rows = to - from
  const [ends, nulls] = [new Int32Array(rows), new Uint8Array(rows)]
  // Not of a pool: the bytes of a page move to another thread.
  let bytes = Buffer.allocUnsafeSlow(fields.length > 0 ? rows * TEXT_BYTES : 0)
  let end = 0
  for (let row = 0; row < rows; row++) {
    const text = textOf(fields, from + row)
    if (text === '') nulls[row] = 1
    const needed = end + text.length * BYTES_A_CHARACTER
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(needed * 2)
      bytes.copy(larger, 0, 0, end)
      bytes = larger
    }
    end += bytes.write(text, end)
    ends[row] = end
  }
  return { values: [], nulls, utf8: { bytes, ends } }
}

function textOf(fields: readonly ExtraField[], index: number): string {
  let members = ''
  for (const field of fields) {
    const value = jsonOf(field, index)
    if (value !== undefined) members += (members === '' ? '{' : ',') + field.key + value
  }
  return members === '' ? '' : `${members}}`
}

/** Returns a value of a field as JSON, undefined for none. */
function jsonOf({ numbers, nulls, others }: ExtraField, index: number): string | undefined {
  const other = others?.[index + 1] ?? null
  if (other !== null) return JSON.stringify(other)
  if (index >= nulls.length || nulls[index]) return undefined
  const value = numbers[index] as number
  return Number.isFinite(value) ? String(value) : `"${value}"`
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
