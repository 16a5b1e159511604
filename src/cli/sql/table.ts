import type { Field, QueryResult, Row } from '../../store/raw-query.ts'
import { cellOf, makeLayout } from '../table.ts'
import { makeExpandedRows } from './expanded.ts'
import type { Printer } from './printer.ts'

export type TableOptions = {
  /** the terminal's width in columns; undefined when the output is not a terminal, and then nothing is cut */
  columns?: number | undefined
  /** whether rows are written one value a line; undefined: when they are wider than the terminal */
  expanded?: boolean | undefined
}

/** The rows that widths are taken from. An answer that is no longer is aligned exactly; memory holds no more of one. */
const FIRST_ROWS = 1_000
/** The same in characters, for rows with long values: about 10 MB of memory. */
const FIRST_CHARACTERS = 4_000_000

/** Makes a printer of aligned columns, numbers to the right, or of one value a line; NULL is nothing. */
export function makeTablePrinter(options: TableOptions): Printer {
  let fields: readonly Field[] | undefined
  let first: Row[] = []
  let characters = 0
  let count = 0
  let format: ((rows: readonly Row[]) => string) | undefined
  const start = (): string => {
    const rows = first
    first = []
    const { heading, write } = formatOf(fields ?? [], rows, options)
    format = write
    return heading + write(rows)
  }
  return {
    begin(next) {
      fields = next
      count = 0
      characters = 0
      format = undefined
      return ''
    },
    rows(rows) {
      count += rows.length
      if (format) return format(rows)
      for (const row of rows) {
        first.push(row)
        for (const value of row) characters += value?.length ?? 0
      }
      return first.length >= FIRST_ROWS || characters >= FIRST_CHARACTERS ? start() : ''
    },
    copied: (bytes) => bytes,
    end(command) {
      if (!fields) return `${command}\n`
      const text = format ? '' : start()
      fields = undefined
      return `${text}(${count} ${count === 1 ? 'row' : 'rows'})\n`
    },
  }
}

/** Writes a whole answer as a table that is not cut, without a line break at its end. */
export function tableOf({ fields, rows, command }: QueryResult): string {
  const printer = makeTablePrinter({})
  return (printer.begin(fields) + printer.rows(rows) + printer.end(command)).trimEnd()
}

type Format = { heading: string; write: (rows: readonly Row[]) => string }

function formatOf(fields: readonly Field[], rows: readonly Row[], options: TableOptions): Format {
  const { columns, expanded } = options
  const tableColumns = fields.map(({ name, form }) => ({
    name,
    numeric: form === 'number' || form === 'digits',
  }))
  const { width, heading, line } = makeLayout(tableColumns, rows.map(cellsOf), columns)
  const tooWide = columns !== undefined && width > columns && rows.length > 0
  if (expanded ?? tooWide) {
    const names = fields.map(({ name }) => name)
    return { heading: '', write: makeExpandedRows(names, columns) }
  }
  return {
    heading: heading.map((text) => `${text}\n`).join(''),
    write: (next) => next.map((row) => `${line(cellsOf(row))}\n`).join(''),
  }
}

function cellsOf(row: Row): string[] {
  return row.map((value) => (value === null ? '' : cellOf(value)))
}
