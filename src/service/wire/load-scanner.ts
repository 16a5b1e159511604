import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'

/** Compiled from src/service/scanner; read from there also when the program runs from its sources. */
const PROGRAM = join(PROGRAM_FOLDER, 'dist/scan-rows.wasm')
/** Bytes behind the window that the scanner may read too: a word and the end of a label. */
const MARGIN_BYTES = 16

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

type Global<T = number> = { readonly value: T }

/** What src/service/scanner/scan-rows.ts exports; numbers without a unit are addresses in `memory`. */
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
 * Reads a value that is not a plain number; `at` is its offset in the window. Returns the offset behind it, and its number if it is one;
 * undefined when it is not JSON or does not end in the window.
 */
export type ReadOther = (
  column: number,
  row: number,
  at: number,
) => { end: number; number: number } | undefined

/** The samples of a window: their number, the number of columns so far, the offset of the next sample, and whether the list ended. */
type Scanned = { rows: number; columns: number; next: number; ended: boolean }

export type Scanner = {
  /** the most bytes that one call of `scan` accepts */
  readonly windowBytes: number
  /** begins another list */
  reset(): void
  /** reads the complete samples of `bytes`, which begin with a sample */
  scan(bytes: Uint8Array, readOther: ReadOther): Scanned
  nameOf(column: number): string
  /** the numbers of a column after the last call, valid until the next one; NaN where there is none */
  numbersOf(column: number, rows: number): Float64Array
}

/**
 * Compiles the scanner of samples. It is WebAssembly for its 64-bit integers and because V8 compiles it at once. Its memory is always 8 MB,
 * of which it touches only what the columns of a window need.
 */
export function loadScanner(): Scanner {
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
    windowBytes,
    reset: () => wasm.reset(),
    scan(bytes, readOther) {
      onOther = readOther
      window.set(bytes)
      window.fill(0, bytes.length, bytes.length + MARGIN_BYTES)
      const rows = wasm.scanRows(bytes.length)
      return { rows, columns: wasm.columns.value, next: wasm.next.value, ended: wasm.ended.value !== 0 }
    },
    nameOf: (column) => Buffer.from(buffer).toString('utf8', wasm.nameStart(column), wasm.nameEnd(column)),
    numbersOf: (column, rows) => cells.subarray(column * rowsAColumn, column * rowsAColumn + rows),
  }
}
