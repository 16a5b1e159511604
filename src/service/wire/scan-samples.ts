import { NO_NUMBER, scanNumber } from './scan-number.ts'
import { MAX_CELLS, MAX_FIELDS, type SessionData } from './wire-samples.ts'

const [QUOTE, COMMA, COLON, BACKSLASH, SPACE] = [0x22, 0x2c, 0x3a, 0x5c, 0x20] as const
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d] as const
const [LOWER_L, LOWER_N, LOWER_U] = [0x6c, 0x6e, 0x75] as const

/** The first estimate of the number of samples is at most a day and a half of seconds, however short the first sample is. */
const MOST_EXPECTED = 131_072

/**
 * Reads a JSON list of samples from its bytes into columns (service document, "session_data entry fields"). It makes no object
 * for each sample, because these objects were most of the cost of fetching an activity. Each sample is expected to have the
 * fields of the one before in the same order. Numbers equal those of JSON.parse. Returns undefined when the list contains anything
 * but flat objects in plain JSON; the caller then parses it with JSON.parse and reports what is wrong.
 */
export function scanSamples(body: Buffer, start: number): { data: SessionData; end: number } | undefined {
  if (body[start] !== LIST) return undefined
  let at = skipSpace(body, start + 1)
  const table = makeTable()
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  if (body[at] === LIST_END) return { data: finishTable(table, 0), end: at + 1 }
  for (let row = 0; ; row++) {
    const end = growTo(table, row + 1) ? scanSample(body, view, at, row, table) : NOT_JSON
    if (end === NOT_JSON) return undefined
    // The length of the first sample gives an estimate of how many there are.
    if (row === 0) growTo(table, Math.min(MOST_EXPECTED, Math.ceil((body.length - at) / (end - at))))
    at = skipSpace(body, end)
    if (body[at] === LIST_END) return { data: finishTable(table, row + 1), end: at + 1 }
    if (body[at] !== COMMA) return undefined
    at = skipSpace(body, at + 1)
  }
}

function scanSample(body: Buffer, view: DataView, start: number, row: number, table: Table): number {
  if (body[start] !== OBJECT) return NOT_JSON
  let at = skipSpace(body, start + 1)
  if (body[at] === OBJECT_END) return at + 1
  for (let place = 0; ; place++) {
    const expected = table.order[place]
    const column =
      expected && isLabelAt(expected.label, view, at) ? expected : seekColumn(body, view, at, place, table)
    // Of a name that comes twice the last one counts; JSON.parse does that.
    if (!column || column.row === row) return NOT_JSON
    column.row = row
    at = scanValue(body, view, at + column.label.length, row, column)
    if (at === NOT_JSON) return NOT_JSON
    at = skipSpace(body, at)
    if (body[at] === OBJECT_END) return at + 1
    if (body[at] !== COMMA) return NOT_JSON
    at = skipSpace(body, at + 1)
  }
}

/** Finds the column of the label at `at` (a name, the colon and the space around it), and expects it there from now on. */
function seekColumn(
  body: Buffer,
  view: DataView,
  at: number,
  place: number,
  table: Table,
): Column | undefined {
  if (body[at] !== QUOTE) return undefined
  const end = body.indexOf(QUOTE, at + 1)
  if (end === -1 || body.subarray(at, end).some((byte) => byte === BACKSLASH || byte < SPACE))
    return undefined
  const colon = skipSpace(body, end + 1)
  if (body[colon] !== COLON) return undefined
  const label = makeLabel(view, at, skipSpace(body, colon + 1))
  const column = label && columnNamed(table, body.toString('utf8', at + 1, end))
  if (!column) return undefined
  column.label = label
  table.order[place] = column
  return column
}

/** Reads one value into its column; returns where it ends. */
function scanValue(body: Buffer, view: DataView, start: number, row: number, column: Column): number {
  const end = scanNumber(body, view, start, column.numbers, row)
  return end === NO_NUMBER ? scanOther(body, start, row, column) : end
}

/** Reads a value other than a plain number: null, numbers with an exponent or too many digits, text, lists and objects. */
function scanOther(body: Buffer, start: number, row: number, column: Column): number {
  if (isNull(body, start)) return start + 4
  const end = skipValue(body, start)
  if (end === NOT_JSON) return NOT_JSON
  const value = parseSlice(body, start, end)
  if (value === undefined) return NOT_JSON
  if (typeof value === 'number') column.numbers[row] = value
  else {
    column.others ??= new Map()
    column.others.set(row, value)
  }
  return end
}

/** A field while its samples are read. */
type Column = {
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
type Table = { readonly columns: Map<string, Column>; readonly order: Column[]; capacity: number }

const FIRST_CAPACITY = 64
const WORD = 4
const NO_LABEL: Label = { length: 0, words: new Int32Array(0) }

function makeTable(): Table {
  return { columns: new Map(), order: [], capacity: FIRST_CAPACITY }
}

/** Finds or makes the column of a name; undefined when there is no room for another. */
function columnNamed(table: Table, name: string): Column | undefined {
  const known = table.columns.get(name)
  if (known) return known
  if (table.columns.size >= MAX_FIELDS || (table.columns.size + 1) * table.capacity > MAX_CELLS)
    return undefined
  const made = { label: NO_LABEL, numbers: makeNumbers(table.capacity), others: undefined, row: -1 }
  table.columns.set(name, made)
  return made
}

/** Makes room for `rows` samples; false when they are too many. */
function growTo(table: Table, rows: number): boolean {
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
function makeLabel(view: DataView, start: number, end: number): Label | undefined {
  const length = end - start
  if (length < WORD) return undefined
  const words = new Int32Array(Math.ceil(length / WORD))
  for (let index = 0; index < words.length; index++)
    words[index] = view.getInt32(start + Math.min(index * WORD, length - WORD), true)
  return { length, words }
}

/** Tells whether the bytes at `at` are the label. It compares four bytes at a time; one by one took a third of the whole scan. */
function isLabelAt({ length, words }: Label, view: DataView, at: number): boolean {
  const end = at + length
  if (end > view.byteLength) return false
  const last = words.length - 1
  if (view.getInt32(at, true) !== words[0] || view.getInt32(end - WORD, true) !== words[last]) return false
  for (let index = 1; index < last; index++)
    if (view.getInt32(at + index * WORD, true) !== words[index]) return false
  return true
}

function finishTable(table: Table, count: number): SessionData {
  const fields = [...table.columns].map(
    ([name, { numbers, others }]) => [name, { numbers, others: others ?? NO_OTHERS }] as const,
  )
  return { count, fields: new Map(fields) }
}

function makeNumbers(length: number): Float64Array {
  return new Float64Array(length).fill(Number.NaN)
}

const NO_OTHERS: ReadonlyMap<number, unknown> = new Map()

function isNull(body: Buffer, at: number): boolean {
  return (
    body[at] === LOWER_N && body[at + 1] === LOWER_U && body[at + 2] === LOWER_L && body[at + 3] === LOWER_L
  )
}

/** Returned in place of an offset when the bytes are no plain JSON. */
const NOT_JSON = -1

const SPACES = [0x20, 0x09, 0x0a, 0x0d]

/** Returns the offset of the first byte from `at` on that is no JSON whitespace. */
function skipSpace(body: Buffer, at: number): number {
  let end = at
  // One comparison in the common case: everything else in JSON is above the space.
  while ((body[end] as number) <= 0x20 && SPACES.includes(body[end] as number)) end++
  return end
}

/** Returns the end of the JSON value that begins at `start`. Its content is not checked; parseSlice does that. */
function skipValue(body: Buffer, start: number): number {
  const first = body[start]
  if (first === QUOTE) return skipText(body, start)
  if (first !== LIST && first !== OBJECT) return skipWord(body, start)
  let depth = 0
  for (let at = start; at < body.length; at++) {
    const byte = body[at]
    if (byte === QUOTE) {
      const end = skipText(body, at)
      if (end === NOT_JSON) return NOT_JSON
      at = end - 1
    } else if (byte === LIST || byte === OBJECT) depth++
    else if ((byte === LIST_END || byte === OBJECT_END) && --depth === 0) return at + 1
  }
  return NOT_JSON
}

/** Parses a slice of the body that is a JSON value; undefined when it is none. */
function parseSlice(body: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(body.toString('utf8', start, end)) as unknown
  } catch {
    return undefined
  }
}

/**
 * Finds where the value of a member of the body's outermost object begins; undefined when it has no such member, or is
 * no object. `name` must need no escapes.
 */
export function seekMember(body: Buffer, name: string): number | undefined {
  const quoted = Buffer.from(JSON.stringify(name))
  let at = skipSpace(body, 0)
  if (body[at] !== OBJECT) return undefined
  at = skipSpace(body, at + 1)
  while (body[at] === QUOTE) {
    const end = skipText(body, at)
    if (end === NOT_JSON) return undefined
    const found = quoted.equals(body.subarray(at, end))
    const value = skipSpace(body, skipSpace(body, end) + 1)
    if (found) return value
    const next = skipValue(body, value)
    if (next === NOT_JSON) return undefined
    at = skipSpace(body, next)
    if (body[at] !== COMMA) return undefined
    at = skipSpace(body, at + 1)
  }
  return undefined
}

function skipText(body: Buffer, start: number): number {
  for (let at = start + 1; at < body.length; at++) {
    if (body[at] === BACKSLASH) at++
    else if (body[at] === QUOTE) return at + 1
  }
  return NOT_JSON
}

function skipWord(body: Buffer, start: number): number {
  let at = start
  while (at < body.length) {
    const byte = body[at] as number
    if (byte === COMMA || byte === LIST_END || byte === OBJECT_END || byte <= 0x20) break
    at++
  }
  return at === start ? NOT_JSON : at
}
