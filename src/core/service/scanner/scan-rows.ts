import { NO_NUMBER, readNumber } from './read-number'

/** Parses and keeps the JSON value at `at`, an offset in the window, unless the value is a plain number. Returns the offset after the value, or 0 if the bytes are not JSON. */
declare function readOther(column: u32, row: u32, at: u32): u32

const QUOTE: u32 = 0x22
const COMMA: u32 = 0x2c
const COLON: u32 = 0x3a
const BACKSLASH: u32 = 0x5c
const SPACE: u32 = 0x20
const LIST_END: u32 = 0x5d
const OBJECT: u32 = 0x7b
const OBJECT_END: u32 = 0x7d
/** `null` in little-endian order. */
const NULL: u32 = 0x6c6c756e

/** Limits: fields in a list's samples, samples per call, and bytes of the list in the window. */
export const MAX_COLUMNS: u32 = 1_000
export const MAX_ROWS: u32 = 1_024
export const WINDOW_BYTES: u32 = 256 * 1_024

/** A field. Its record ends with the bytes of its last label, from the name's quote to the value. */
@unmanaged
class Column {
  /** length of the label, bytes */
  length: u32
  /** length of the name without quotes, bytes */
  nameLength: u32
  /** number of the last sample that had the field */
  sample: u32
}

const LABEL_OFFSET = offsetof<Column>()
const RECORD_BYTES: u32 = 128
const MAX_LABEL: u32 = RECORD_BYTES - <u32>LABEL_OFFSET - 8

/** The columns' records, the columns in the order of the last sample, and the numbers, column by column. */
const RECORDS = memory.data(MAX_COLUMNS * RECORD_BYTES)
const ORDER = memory.data(MAX_COLUMNS * 4)
export const CELLS = memory.data(MAX_COLUMNS * MAX_ROWS * 8, 8)
/** The window; reads may go one word past its end. */
export const WINDOW = memory.data(WINDOW_BYTES + 16)

/** Number of columns since `reset`. */
export let columns: u32 = 0
/** Number of the current sample; a sample that is incomplete in the window gets a new number when it is read again. */
let sample: u32 = 0
/** Names compared since `reset`, and their limit: JSON.parse reads lists whose fields have no stable order. */
let compared: u32 = 0
const MAX_COMPARED: u32 = 1 << 25
/** The offset of the next sample in the window after a call of `scanRows`, and whether the list has ended there. */
export let next: u32 = 0
export let ended: bool = false

export function reset(): void {
  columns = 0
  compared = 0
}

/** Returns the address of a column's name in the window's memory; nameEnd returns the address after the name. */
export function nameStart(index: u32): usize {
  return RECORDS + index * RECORD_BYTES + LABEL_OFFSET + 1
}

export function nameEnd(index: u32): usize {
  return nameStart(index) + columnAt(index).nameLength
}

/**
 * Reads samples from the window, whose bytes from `length` on are 0, up to the first that is incomplete or not a flat object in plain JSON.
 * Returns the number of samples. Cells without a number are NaN.
 */
export function scanRows(length: u32): u32 {
  const end = WINDOW + length
  memory.fill(CELLS, 0xff, <usize>columns * MAX_ROWS * 8)
  ended = false
  next = 0
  let row: u32 = 0
  for (; row < MAX_ROWS; row++) {
    let at = scanSample(WINDOW + next, row)
    if (at === NOT_PLAIN) return row
    at = skipSpace(at)
    const byte = <u32>load<u8>(at)
    if (byte !== COMMA && byte !== LIST_END) return row
    at = skipSpace(at + 1)
    if (at > end) return row
    next = <u32>(at - WINDOW)
    if (byte === LIST_END) {
      ended = true
      return row + 1
    }
  }
  return row
}

/** Returned instead of an address if the bytes are not plain JSON. */
const NOT_PLAIN: usize = 0

function scanSample(start: usize, row: u32): usize {
  if (load<u8>(start) !== OBJECT) return NOT_PLAIN
  sample++
  let at = skipSpace(start + 1)
  if (load<u8>(at) === OBJECT_END) return at + 1
  for (let place: u32 = 0; place < MAX_COLUMNS; place++) {
    let index = load<u32>(ORDER + (place << 2))
    if (index >= columns || !isLabelAt(columnAt(index), at)) {
      index = seekColumn(at, index)
      if (index === NO_COLUMN) return NOT_PLAIN
      store<u32>(ORDER + (place << 2), index)
    }
    const column = columnAt(index)
    // The last of two equal names counts, as in JSON.parse.
    if (column.sample === sample) return NOT_PLAIN
    column.sample = sample
    at = scanValue(at + column.length, index, row)
    if (at === NOT_PLAIN) return NOT_PLAIN
    at = skipSpace(at)
    const byte = <u32>load<u8>(at)
    if (byte === OBJECT_END) return at + 1
    if (byte !== COMMA) return NOT_PLAIN
    at = skipSpace(at + 1)
  }
  return NOT_PLAIN
}

const NO_COLUMN: u32 = 0xffffffff

function columnAt(index: u32): Column {
  return changetype<Column>(RECORDS + index * RECORD_BYTES)
}

/** Reports whether the bytes at `at` are the label of the column. Compares eight bytes at a time. */
function isLabelAt(column: Column, at: usize): bool {
  const label = changetype<usize>(column) + LABEL_OFFSET
  const length = column.length
  const differing = load<u64>(at) ^ load<u64>(label)
  if (length <= 8) return differing << ((8 - length) << 3) === 0
  if (differing !== 0 || load<u64>(at + length - 8) !== load<u64>(label + length - 8)) return false
  for (let offset: u32 = 8; offset < length - 8; offset += 8)
    if (load<u64>(at + offset) !== load<u64>(label + offset)) return false
  return true
}

/** Finds or creates the column of the label at `at`, first trying the column after `before`. NO_COLUMN: no plain, short label, or no room. */
function seekColumn(at: usize, before: u32): u32 {
  if (load<u8>(at) !== QUOTE) return NO_COLUMN
  let end = at + 1
  for (; load<u8>(end) !== QUOTE; end++)
    if (load<u8>(end) === BACKSLASH || load<u8>(end) < SPACE) return NO_COLUMN
  const colon = skipSpace(end + 1)
  const length = <u32>(skipSpace(colon + 1) - at)
  if (load<u8>(colon) !== COLON || length > MAX_LABEL) return NO_COLUMN
  const nameLength = <u32>(end - at - 1)
  const index = columnNamed(at + 1, nameLength, before)
  if (index === NO_COLUMN) return NO_COLUMN
  const column = columnAt(index)
  column.length = length
  column.nameLength = nameLength
  memory.copy(changetype<usize>(column) + LABEL_OFFSET, at, length)
  return index
}

function columnNamed(name: usize, length: u32, before: u32): u32 {
  for (let step: u32 = 1; step <= columns; step++) {
    const index = (before + step) % columns
    const column = columnAt(index)
    if (++compared > MAX_COMPARED) return NO_COLUMN
    const known = changetype<usize>(column) + LABEL_OFFSET + 1
    if (column.nameLength === length && memory.compare(known, name, length) === 0) return index
  }
  if (columns === MAX_COLUMNS) return NO_COLUMN
  columnAt(columns).sample = 0
  memory.fill(cellOf(columns, 0), 0xff, MAX_ROWS * 8)
  return columns++
}

function cellOf(index: u32, row: u32): usize {
  return CELLS + ((index * MAX_ROWS + row) << 3)
}

/** Reads one value into its cell; returns the address after it. */
function scanValue(at: usize, index: u32, row: u32): usize {
  const end = readNumber(at, cellOf(index, row))
  if (end !== NO_NUMBER) return end
  if (load<u32>(at) === NULL) return at + 4
  const offset = readOther(index, row, <u32>(at - WINDOW))
  return offset === 0 ? NOT_PLAIN : WINDOW + offset
}

/** Returns the address of the first byte from `at` on that is not JSON whitespace. */
function skipSpace(at: usize): usize {
  let end = at
  for (let byte = load<u8>(end); byte <= SPACE; byte = load<u8>(++end))
    if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
  return end
}
