import { loadScanner, type ReadOther, type Scanner } from './load-scanner.ts'
import { NOT_JSON, skipSpace, skipValue } from './seek-member.ts'
import { MAX_CELLS, MAX_SAMPLES, type WireSamples } from './wire-samples.ts'

const [LIST, LIST_END] = [0x5b, 0x5d] as const

/** The highest estimate of the number of samples: a day and a half of seconds. */
const MAX_EXPECTED = 131_072
/** The margin of a column's length over the estimate, and the least growth. */
const [MARGIN, GROWTH] = [1.05, 1.25] as const

/** Loaded at the first list; shared, because it keeps no data between lists. */
let scanner: Scanner | undefined

/**
 * Reads a JSON list of samples from its bytes into columns (service document, "session_data entry fields"), without an object for each
 * sample: the objects were most of the cost of an activity. Numbers equal those of JSON.parse. Returns undefined for a list of anything but
 * flat objects in plain JSON; the caller then uses JSON.parse and reports the fault.
 */
export function scanSamples(body: Buffer, start: number): { data: WireSamples; end: number } | undefined {
  if (body[start] !== LIST) return undefined
  let at = skipSpace(body, start + 1)
  if (body[at] === LIST_END) return { data: { count: 0, fields: new Map() }, end: at + 1 }
  scanner ??= loadScanner()
  scanner.reset()
  const columns: Column[] = []
  const others: Others[] = []
  let count = 0
  let capacity = 0
  for (;;) {
    const window = body.subarray(at, at + scanner.windowBytes)
    const scanned = scanner.scan(window, makeReadOther(window, others, count))
    if (scanned.rows === 0) return undefined
    const { rows } = scanned
    if (count + rows > capacity) {
      // Estimates the number of samples by their mean length so far, with a margin, because growing copies.
      const estimate = (MARGIN * (count + rows) * (body.length - start)) / (at + scanned.next - start)
      const more = Math.ceil(Math.max(Math.min(estimate, MAX_EXPECTED), GROWTH * capacity))
      capacity = scanned.ended ? count + rows : Math.max(count + rows, more)
    }
    if (count + rows > MAX_SAMPLES || scanned.columns * capacity > MAX_CELLS) return undefined
    for (let index = 0; index < scanned.columns; index++) {
      const column = columns[index] ?? makeColumn(scanner.nameOf(index), count, capacity)
      columns[index] = column
      if (column.numbers.length < capacity) column.numbers = copyOf(column.numbers, capacity)
      column.numbers.set(scanner.numbersOf(index, rows), count)
    }
    count += rows
    at += scanned.next
    if (scanned.ended) break
  }
  const fields = columns.map(
    ({ name, numbers }, index) => [name, { numbers, others: others[index] ?? NO_OTHERS }] as const,
  )
  const data = { count, fields: new Map(fields) }
  // Two invalid names may decode to the same text.
  return data.fields.size === columns.length ? { data, end: at } : undefined
}

type Column = { name: string; numbers: Float64Array }
/** The values that are neither null nor numbers, by sample. */
type Others = Map<number, unknown>

const NO_OTHERS: ReadonlyMap<number, unknown> = new Map()

/** Makes the column of a field that is missing in the first `count` samples. */
function makeColumn(name: string, count: number, capacity: number): Column {
  return { name, numbers: new Float64Array(capacity).fill(Number.NaN, 0, count) }
}

function copyOf(numbers: Float64Array, capacity: number): Float64Array {
  const copy = new Float64Array(capacity)
  copy.set(numbers)
  return copy
}

/**
 * Reads a value for which the scanner is too simple: a long number, one with an exponent, text, a list or an object. `count` samples come
 * before it.
 */
function makeReadOther(window: Buffer, others: Others[], count: number): ReadOther {
  return (column, row, at) => {
    const end = skipValue(window, at)
    if (end === NOT_JSON) return undefined
    const value = parseSlice(window, at, end)
    if (value === undefined) return undefined
    if (typeof value === 'number') return { end, number: value }
    others[column] ??= new Map()
    others[column].set(count + row, value)
    return { end, number: Number.NaN }
  }
}

/** Parses a slice of bytes as a JSON value; undefined when it is not one. */
function parseSlice(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end)) as unknown
  } catch {
    return undefined
  }
}
