import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseIfJson } from '../../../kit/json.ts'
import { PROGRAM_FOLDER } from '../../../kit/program-folder.ts'
import { MAX_CELLS, MAX_SAMPLES, type WireSamples } from './wire-activity.ts'

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c] as const
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d] as const

/** Maximum estimate of the number of samples: one per second for a day and a half. */
const MAX_EXPECTED = 131_072
/** Factor of a column's length over the estimate, and minimum growth factor. */
const [MARGIN, GROWTH] = [1.05, 1.25] as const

/** Loaded at the first list. Shared, because it keeps no data between lists. */
let scanner: ReturnType<typeof loadScanner> | undefined

/**
 * Reads a JSON list of samples from its bytes into columns (service document, "session_data entry fields"), without an object per sample: the
 * objects were most of an activity's cost. Numbers equal JSON.parse's results. Returns undefined if the list has anything but flat objects in
 * plain JSON; the caller then uses JSON.parse and reports the fault.
 */
export function scanSamples(body: Buffer, start: number): { data: WireSamples; end: number } | undefined {
  if (body[start] !== LIST) return undefined
  let at = skipSpace(body, start + 1)
  if (body[at] === LIST_END) return { data: { count: 0, fields: new Map() }, end: at + 1 }
  scanner ??= loadScanner()
  scanner.reset()
  const columns: { name: string; numbers: Float64Array }[] = []
  /** the values that are neither null nor numbers, by column and sample */
  const others: Map<number, unknown>[] = []
  let count = 0
  let capacity = 0
  for (;;) {
    const window = body.subarray(at, at + scanner.windowBytes)
    const before = count
    // Reads a value that is too complex for the scanner: a long number, a number with an exponent, text, a list or an object.
    const scanned = scanner.scan(window, (column, row, valueAt) => {
      const end = skipValue(window, valueAt)
      const value = end === NOT_JSON ? undefined : parseIfJson(window.toString('utf8', valueAt, end))
      if (value === undefined) return undefined
      if (typeof value === 'number') return { end, number: value }
      others[column] ??= new Map()
      others[column].set(before + row, value)
      return { end, number: Number.NaN }
    })
    if (scanned.rows === 0) return undefined
    const { rows } = scanned
    if (count + rows > capacity) {
      // Estimates the number of samples by their mean length so far, with a margin, because growing copies the data.
      const estimate = (MARGIN * (count + rows) * (body.length - start)) / (at + scanned.next - start)
      const more = Math.ceil(Math.max(Math.min(estimate, MAX_EXPECTED), GROWTH * capacity))
      capacity = scanned.ended ? count + rows : Math.max(count + rows, more)
    }
    if (count + rows > MAX_SAMPLES || scanned.columns * capacity > MAX_CELLS) return undefined
    for (let index = 0; index < scanned.columns; index++) {
      // A field that the first samples lack is NaN in them.
      const none = () => new Float64Array(count).fill(Number.NaN)
      const column = columns[index] ?? { name: scanner.nameOf(index), numbers: none() }
      columns[index] = column
      if (column.numbers.length < capacity) {
        const longer = new Float64Array(capacity)
        longer.set(column.numbers)
        column.numbers = longer
      }
      column.numbers.set(scanner.numbersOf(index, rows), count)
    }
    count += rows
    at += scanned.next
    if (scanned.ended) break
  }
  const fields = columns.map(
    ({ name, numbers }, index) => [name, { numbers, others: others[index] ?? new Map() }] as const,
  )
  const data = { count, fields: new Map(fields) }
  // Two invalid names may decode to the same text.
  return data.fields.size === columns.length ? { data, end: at } : undefined
}

/** Compiled from src/core/service/scanner; also read from there if the program runs from its sources. */
const PROGRAM = join(PROGRAM_FOLDER, 'dist/scan-rows.wasm')
/** Bytes after the window that the scanner may read too: a word and the end of a label. */
const MARGIN_BYTES = 16

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

type Global<T = number> = { readonly value: T }

/** Exports of src/core/service/scanner/scan-rows.ts; numbers without a unit are addresses in `memory`. */
type Exports = {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly WINDOW: Global
  readonly WINDOW_BYTES: Global
  readonly CELLS: Global
  readonly MAX_COLUMNS: Global
  readonly MAX_ROWS: Global
  readonly columns: Global
  readonly next: Global
  readonly ended: Global
  reset(): void
  scanRows(bytes: number): number
  nameStart(column: number): number
  nameEnd(column: number): number
}

/**
 * Reads a value that is not a plain number; `at` is its offset in the window. Returns the offset after it, and its number if it is one;
 * undefined if it is not JSON or does not end in the window.
 */
type ReadOther = (column: number, row: number, at: number) => { end: number; number: number } | undefined

/**
 * Compiles the scanner of samples. It is WebAssembly for its 64-bit integers and because V8 compiles it at once. Its memory is always 8 MB, of
 * which it touches only what a window's columns need.
 */
function loadScanner() {
  let onOther: ReadOther = () => undefined
  const program = new WebAssembly.Module(readFileSync(PROGRAM))
  const { exports } = new WebAssembly.Instance(program, { 'scan-rows': { readOther } })
  const wasm = exports as Exports
  const { buffer } = wasm.memory
  const windowBytes = wasm.WINDOW_BYTES.value
  const rowsAColumn = wasm.MAX_ROWS.value
  const window = new Uint8Array(buffer, wasm.WINDOW.value, windowBytes + MARGIN_BYTES)
  const cells = new Float64Array(buffer, wasm.CELLS.value, wasm.MAX_COLUMNS.value * rowsAColumn)

  function readOther(column: number, row: number, at: number): number {
    const other = onOther(column, row, at)
    if (!other) return 0
    cells[column * rowsAColumn + row] = other.number
    return other.end
  }
  return {
    /** the most bytes that one call of `scan` accepts */
    windowBytes,
    reset: () => wasm.reset(),
    /** Reads the complete samples of `bytes`. Returns the counts of samples and columns, the next offset, and whether the list ended. */
    scan(bytes: Uint8Array, readOther: ReadOther) {
      onOther = readOther
      window.set(bytes)
      window.fill(0, bytes.length, bytes.length + MARGIN_BYTES)
      const rows = wasm.scanRows(bytes.length)
      return { rows, columns: wasm.columns.value, next: wasm.next.value, ended: wasm.ended.value !== 0 }
    },
    nameOf: (column: number) =>
      Buffer.from(buffer).toString('utf8', wasm.nameStart(column), wasm.nameEnd(column)),
    /** Returns a column's numbers after the last call, valid until the next call; NaN for missing numbers. */
    numbersOf: (column: number, rows: number) =>
      cells.subarray(column * rowsAColumn, column * rowsAColumn + rows),
  }
}

/** Returns where the value of a top-level member starts; undefined without the member. `name` must need no escapes. */
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

/** Returned instead of an offset if the bytes are not plain JSON. */
const NOT_JSON = -1

const SPACES = [0x20, 0x09, 0x0a, 0x0d]

/** Returns the offset of the first byte from `at` on that is not JSON whitespace. */
function skipSpace(body: Buffer, at: number): number {
  let end = at
  while (SPACES.includes(body[end] as number)) end++
  return end
}

/** Returns the end of the JSON value that starts at `start`. Does not check its content. */
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
