import {
  type Column,
  columnNamed,
  finishTable,
  growTo,
  isLabelAt,
  makeLabel,
  makeTable,
  type SessionData,
  type Table,
} from './wire-samples.ts'

const [QUOTE, COMMA, COLON, MINUS, POINT, ZERO, NINE] = [0x22, 0x2c, 0x3a, 0x2d, 0x2e, 0x30, 0x39] as const
const [LIST, LIST_END, OBJECT, OBJECT_END, BACKSLASH, SPACE] = [0x5b, 0x5d, 0x7b, 0x7d, 0x5c, 0x20] as const
const [UPPER_E, LOWER_E, LOWER_L, LOWER_N, LOWER_U] = [0x45, 0x65, 0x6c, 0x6e, 0x75] as const
/** Below it whole numbers are exact, and so is one division by a power of ten that is exact itself. */
const EXACT = 2 ** 53
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent)

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
    at = scanValue(body, at + column.label.length, row, column)
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
function scanValue(body: Buffer, start: number, row: number, column: Column): number {
  let at = body[start] === MINUS ? start + 1 : start
  const first = at
  let digits = 0
  let byte = body[at] as number
  while (byte >= ZERO && byte <= NINE) {
    digits = digits * 10 + (byte - ZERO)
    byte = body[++at] as number
  }
  if (at === first) return first === start ? scanOther(body, start, row, column) : NOT_JSON
  if (body[first] === ZERO && at > first + 1) return NOT_JSON
  let decimals = 0
  if (byte === POINT) {
    const point = at
    byte = body[++at] as number
    while (byte >= ZERO && byte <= NINE) {
      digits = digits * 10 + (byte - ZERO)
      byte = body[++at] as number
    }
    decimals = at - point - 1
    if (decimals === 0) return NOT_JSON
  }
  if (byte === LOWER_E || byte === UPPER_E || digits >= EXACT || decimals >= POWERS_OF_TEN.length)
    return scanOther(body, start, row, column)
  const value = decimals === 0 ? digits : digits / (POWERS_OF_TEN[decimals] as number)
  column.numbers[row] = first === start ? value : -value
  return at
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
