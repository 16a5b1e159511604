import type { Context } from './context.ts'

/** Prints rows as aligned columns under their names, numbers to the right; NULL is an empty cell. */
export function printTable(
  context: Pick<Context, 'print'>,
  rows: ReadonlyArray<object>,
  names?: readonly string[],
): void {
  const columns = names ?? Object.keys(rows[0] ?? {})
  const cells = rows.map((row) => columns.map((name) => cellOf((row as Record<string, unknown>)[name])))
  const widths = columns.map((name, index) =>
    Math.max(name.length, ...cells.map((row) => row[index]?.length ?? 0)),
  )
  const numeric = columns.map((name) =>
    rows.some((row) => typeof (row as Record<string, unknown>)[name] === 'number'),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) =>
        numeric[index] ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd()
  context.print(line(columns))
  context.print(widths.map((width) => '─'.repeat(width)).join('  '))
  for (const row of cells) context.print(line(row))
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString().replace('T', ' ').replace('.000Z', 'Z')
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value).replace(/\r?\n/g, '⏎')
}
