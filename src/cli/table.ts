import type { Context } from './context.ts'
import { cutTo, escapeControls, padTo, widthOf } from './terminal-text.ts'

export type Column = { name: string; numeric: boolean }

export type Layout = {
  /** columns of the terminal that a line takes when none of its own is narrowed */
  width: number
  /** the names, and a rule under them */
  heading: readonly string[]
  /** Writes a row's cells as one line. */
  line(cells: readonly string[]): string
}

const GAP = '  '
/** A column that is cut keeps this many columns of the terminal at least. */
const NARROWEST = 3

/** Prints rows as aligned columns under their names, numbers to the right; NULL is an empty cell. */
export function printTable(context: Pick<Context, 'print'>, rows: ReadonlyArray<object>): void {
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
 * Makes the layout of a table from its first rows. A later cell that is wider than its column moves the next ones to the
 * right, as far as these have no room to spare. With `limit`, the widest columns are narrowed until a line takes at
 * most so many columns of the terminal, and cells that make a line wider are cut.
 */
export function makeLayout(
  columns: readonly Column[],
  cells: ReadonlyArray<readonly string[]>,
  limit?: number,
): Layout {
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

/** Writes a text as one line of a cell: a line break is a sign. */
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
