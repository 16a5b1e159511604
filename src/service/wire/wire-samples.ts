/** A field while its samples are read. */
export type Column = {
  /** the bytes of the name where it last occurred in the body, see `makeLabel` */
  label: Label
  numbers: Float64Array
  others: Map<number, unknown> | undefined
  /** the last sample that had the field */
  row: number
}

/** A name with its quotes, the colon and the space around it: its length and its bytes in words of four, the last word from its end. */
type Label = { length: number; words: Int32Array }

/** The columns read so far: the fields by name, and the order in which the last sample had them. */
export type Table = { readonly columns: Map<string, Column>; readonly order: Column[]; capacity: number }

const FIRST_CAPACITY = 64
const WORD = 4
const NO_LABEL: Label = { length: 0, words: new Int32Array(0) }

export function makeTable(): Table {
  return { columns: new Map(), order: [], capacity: FIRST_CAPACITY }
}

/** Finds or makes the column of a name; undefined when there is no room for another. */
export function columnNamed(table: Table, name: string): Column | undefined {
  const known = table.columns.get(name)
  if (known) return known
  if (table.columns.size >= MAX_FIELDS || (table.columns.size + 1) * table.capacity > MAX_CELLS)
    return undefined
  const made = { label: NO_LABEL, numbers: makeNumbers(table.capacity), others: undefined, row: -1 }
  table.columns.set(name, made)
  return made
}

/** Makes room for `rows` samples; false when they are too many. */
export function growTo(table: Table, rows: number): boolean {
  if (rows <= table.capacity) return true
  const capacity = Math.max(rows, table.capacity * 2)
  if (table.columns.size * capacity > MAX_CELLS) return false
  table.capacity = capacity
  for (const column of table.columns.values()) {
    const numbers = makeNumbers(capacity)
    numbers.set(column.numbers)
    column.numbers = numbers
  }
  return true
}

/** Makes the label of the bytes from `start` to `end`; undefined when it is too short, as that of an empty name may be. */
export function makeLabel(view: DataView, start: number, end: number): Label | undefined {
  const length = end - start
  if (length < WORD) return undefined
  const words = new Int32Array(Math.ceil(length / WORD))
  for (let index = 0; index < words.length; index++)
    words[index] = view.getInt32(start + Math.min(index * WORD, length - WORD), true)
  return { length, words }
}

/** Tells whether the bytes at `at` are the label. It compares four bytes at a time; one by one took a third of the whole scan. */
export function isLabelAt({ length, words }: Label, view: DataView, at: number): boolean {
  const end = at + length
  if (end > view.byteLength) return false
  const last = words.length - 1
  if (view.getInt32(at, true) !== words[0] || view.getInt32(end - WORD, true) !== words[last]) return false
  for (let index = 1; index < last; index++)
    if (view.getInt32(at + index * WORD, true) !== words[index]) return false
  return true
}

export function finishTable(table: Table, count: number): SessionData {
  const fields = [...table.columns].map(
    ([name, { numbers, others }]) => [name, { numbers, others: others ?? NO_OTHERS }] as const,
  )
  return { count, fields: new Map(fields) }
}

function makeNumbers(length: number): Float64Array {
  return new Float64Array(length).fill(Number.NaN)
}

/** One field of every sample: NaN where a sample has no number, and by index what it has instead (neither null nor number). */
export type SessionField = { readonly numbers: Float64Array; readonly others: ReadonlyMap<number, unknown> }

/**
 * The samples of an activity as sent (service document, "session_data entry fields"), by field, in the order as sent and
 * not checked. The arrays may be longer than `count`.
 */
export type SessionData = { readonly count: number; readonly fields: ReadonlyMap<string, SessionField> }

/** Samples times fields, 128 MB of numbers: a week of recording with 27 fields. More is no real activity. */
const MAX_CELLS = 16_000_000
/** The document has 17 fields a sample. Each further one is a row of `sample_extras`. */
const MAX_FIELDS = 1_000
const NO_OTHERS: ReadonlyMap<number, unknown> = new Map()

/** Turns samples that are objects to columns; undefined when they are more than MAX_CELLS, or have more than MAX_FIELDS. */
export function columnsOf(
  samples: ReadonlyArray<Readonly<Record<string, unknown>>>,
): SessionData | undefined {
  const fields = new Map<string, { numbers: Float64Array; others: Map<number, unknown> }>()
  for (const [index, sample] of samples.entries()) {
    for (const [name, value] of Object.entries(sample)) {
      let field = fields.get(name)
      if (!field) {
        if (fields.size >= MAX_FIELDS || (fields.size + 1) * samples.length > MAX_CELLS) return undefined
        field = { numbers: new Float64Array(samples.length).fill(Number.NaN), others: new Map() }
        fields.set(name, field)
      }
      if (typeof value === 'number') field.numbers[index] = value
      else if (value !== null && value !== undefined) field.others.set(index, value)
    }
  }
  return { count: samples.length, fields }
}
