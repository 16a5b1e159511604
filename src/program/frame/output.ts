import { InvalidArgumentError } from 'commander'
import width from 'fast-string-width'
import { nameControls } from '../../kit/text.ts'

type Column = { name: string; numeric: boolean }

const GAP = '  '
/** Minimum width of a narrowed column, in terminal columns. */
const NARROWEST = 3

/** Prints rows as a table under the column names, with numbers aligned to the right; NULL is an empty cell. */
export function printTable(context: { print(line: string): void }, rows: ReadonlyArray<object>): void {
  const names = Object.keys(rows[0] ?? {})
  const memberOf = (row: object, name: string) => (row as Record<string, unknown>)[name]
  const columns = names.map((name) => ({
    name,
    numeric: rows.some((row) => typeof memberOf(row, name) === 'number'),
  }))
  const cells = rows.map((row) => names.map((name) => cellOf(textOf(memberOf(row, name)))))
  const layout = makeLayout(columns, cells)
  for (const line of [...layout.heading, ...cells.map(layout.line)]) context.print(line)
}

/**
 * Makes a table layout from the first rows. If a later cell is wider than its column, the next cells of the line move right until their
 * padding absorbs the difference. With `limit`, in terminal columns, the widest columns are narrowed until a line fits, and the cells of
 * longer lines are cut. Returns `width`, the width of a line before narrowing; `heading`, the names and the rule below them; and `line`,
 * which formats the cells of a row.
 */
export function makeLayout(
  columns: readonly Column[],
  cells: ReadonlyArray<readonly string[]>,
  limit?: number,
) {
  const names = columns.map(({ name }) => cellOf(name))
  const natural = names.map((name, index) => {
    const widest = (most: number, row: readonly string[]) => Math.max(most, widthOf(row[index] ?? ''))
    return cells.reduce(widest, widthOf(name))
  })
  const widths = limit === undefined ? natural : narrowed(natural, limit)
  const join = (row: readonly string[]): string => {
    let over = 0
    const padded = row.map((cell, index) => {
      const width = widths[index] ?? 0
      const text = padTo(cell, Math.max(0, width - over), columns[index]?.numeric ? 'right' : 'left')
      over = Math.max(0, over + widthOf(text) - width)
      return text
    })
    return padded.join(GAP).trimEnd()
  }
  const line = (row: readonly string[]): string => {
    const whole = join(row)
    if (limit === undefined || widthOf(whole) <= limit) return whole
    return join(row.map((cell, index) => cutTo(cell, widths[index] ?? 0)))
  }
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP)
  return { width: sumOf(natural), heading: [line(names), rule], line }
}

/** Returns a text as one line, escaped for the terminal; line breaks become ⏎. */
export function cellOf(text: string): string {
  return escapeControls(text).replaceAll('\n', '⏎')
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString().replace('T', ' ').replace('.000Z', 'Z')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function narrowed(widths: readonly number[], limit: number): readonly number[] {
  if (sumOf(widths) <= limit) return widths
  const capped = (most: number) => widths.map((width) => Math.min(width, most))
  let most = limit
  while (most > NARROWEST && sumOf(capped(most)) > limit) most -= 1
  return capped(most)
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1)
}

/** Characters that a terminal does not show, such as direction marks and joiners; the joiners inside an emoji are not included. */
const INVISIBLE = /(?!\u200d|[\u{e0020}-\u{e007f}])\p{Cf}/gu

/** Escapes control characters as psql does, `\x1B`, so that no text can control the terminal. Replaces tabs by spaces and keeps line breaks. */
export function escapeControls(text: string): string {
  if (isPlain(text)) return text
  return nameControls(text).replace(
    /[^\t\n]*\t/g,
    (part) => part.slice(0, -1) + ' '.repeat(8 - (widthOf(part.slice(0, -1)) % 8)),
  )
}

export function widthOf(line: string): number {
  // NFC composes Korean letters into syllables, which is how terminals show them.
  return isPlain(line) ? line.length : width(line.normalize('NFC').replace(INVISIBLE, ''))
}

/** Cuts a line to `limit` columns; a line that is cut ends with an ellipsis. */
export function cutTo(line: string, limit: number): string {
  if (widthOf(line) <= limit) return line
  const [start = ''] = wrapTo(line, limit - 1)
  return `${widthOf(start) < limit ? start : ''}…`
}

/** Splits a line into pieces of at most `limit` columns, never inside a grapheme. */
export function wrapTo(line: string, limit: number): string[] {
  if (widthOf(line) <= limit) return [line]
  const pieces: string[] = []
  let piece = ''
  let taken = 0
  for (const segment of graphemesOf(line)) {
    const columns = widthOf(segment)
    if (taken + columns > limit && piece !== '') {
      pieces.push(piece)
      piece = ''
      taken = 0
    }
    piece += segment
    taken += columns
  }
  return [...pieces, piece]
}

/** Returns the graphemes of a text. Node loads Unicode tables for this, which takes longer than most verbs run. */
function graphemesOf(text: string): string[] {
  if (isPlain(text)) return [...text]
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
}

/** Pads a cell with spaces to a width in columns; `side` is the side of the text. */
export function padTo(cell: string, columns: number, side: 'left' | 'right'): string {
  const spaces = ' '.repeat(Math.max(0, columns - widthOf(cell)))
  return side === 'left' ? cell + spaces : spaces + cell
}

function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

/**
 * Parses an option's whole number of up to 16 digits: positions in the change feed have as many after a restore. Throws commander's
 * InvalidArgumentError, to which commander adds the option.
 */
export function wholeNumber(text: string): number {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new InvalidArgumentError('It is not a whole number.')
}
