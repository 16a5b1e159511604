import { ConfigError } from '../../kit/errors.ts'
import { escapeDelete, quoteCsv } from '../../kit/text.ts'
import { cellOf, escapeControls, makeLayout, padTo, widthOf, wrapTo } from '../../program/frame/output.ts'
import type { Field, Row } from '../../program/query/statement.ts'

/**
 * Formats the results of statements piece by piece. The caller prints each returned text unchanged, because the text contains its own line
 * breaks.
 */
export type Printer = {
  /** Begins a result that has rows. */
  begin(fields: readonly Field[]): string
  /** Formats the next rows of the current result. */
  rows(rows: readonly Row[]): string
  /** Formats the next bytes of COPY … TO STDOUT. */
  copied(bytes: Uint8Array): Uint8Array
  /** Ends a statement, with or without rows; `command` is its command tag. */
  end(command: string): string
}

export type TableOptions = {
  /** the terminal's width in columns; undefined if the output is not a terminal, so that nothing is cut */
  columns?: number | undefined
  /** whether each value has its own line; undefined: only if the rows are wider than the terminal */
  expanded?: boolean | undefined
}

/** Number of rows to buffer in order to size the columns. */
const FIRST_ROWS = 1_000
/** Number of characters to buffer, for rows with long values: about 10 MB of memory. */
const FIRST_CHARACTERS = 4_000_000

/** Returns a printer of aligned columns, with numbers right-aligned, or of one value per line; NULL is empty. */
export function tablePrinter(options: TableOptions): Printer {
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
    return { heading: '', write: expandedRowsWriter(names, columns) }
  }
  return {
    heading: heading.map((text) => `${text}\n`).join(''),
    write: (next) => next.map((row) => `${line(cellsOf(row))}\n`).join(''),
  }
}

function cellsOf(row: Row): string[] {
  return row.map((value) => (value === null ? '' : cellOf(value)))
}

/** Minimum width of a value, columns, even if the names fill the terminal. */
const NARROWEST_VALUE = 20
const TITLE_WIDTH = 40
const GAP = '  '

/**
 * Returns a function that formats rows with one value per line, under a line with the row's number. Values keep their line
 * breaks; with `columns`, longer lines are wrapped. Nothing is cut.
 */
function expandedRowsWriter(fields: readonly string[], columns?: number): (rows: readonly Row[]) => string {
  const names = fields.map(cellOf)
  const nameWidth = names.reduce((most, name) => Math.max(most, widthOf(name)), 0)
  const margin = ' '.repeat(nameWidth) + GAP
  const room = columns === undefined ? undefined : Math.max(NARROWEST_VALUE, columns - margin.length)
  const linesOf = (value: string) => {
    const lines = escapeControls(value).split('\n')
    return room === undefined ? lines : lines.flatMap((line) => wrapTo(line, room))
  }
  let number = 0
  const write = (row: Row): string => {
    number += 1
    const title = `─[ row ${number} ]`.padEnd(Math.min(columns ?? TITLE_WIDTH, TITLE_WIDTH), '─')
    const lines = names.map((name, index) => {
      const [first = '', ...more] = linesOf(row[index] ?? '')
      const start = first === '' ? name : padTo(name, nameWidth, 'left') + GAP + first
      return [start, ...more.map((line) => margin + line)].join('\n')
    })
    return `${[title, ...lines].join('\n')}\n`
  }
  return (rows) => rows.map(write).join('')
}

/**
 * Returns a printer of one JSON array per statement, with one row per line. Nothing is lost: repeated names are numbered, JSON
 * values stay unchanged, and values that JavaScript would round (bigint, numeric) or that JSON lacks (infinity) are strings. The
 * printer's `copied` throws ConfigError `bad_usage`.
 */
export function jsonPrinter(): Printer {
  let fields: readonly Field[] = []
  let names: string[] = []
  let before = '['
  return {
    begin(next) {
      fields = next
      names = uniqueNames(fields.map(({ name }) => name)).map((name) => stringOf(name))
      return ''
    },
    rows(rows) {
      const objects = rows.map((row) => {
        const members = names.map((name, index) => `${name}:${jsonOf(fields[index], row[index] ?? null)}`)
        return `{${members.join(',')}}`
      })
      const text = before + objects.join(',\n')
      before = ',\n'
      return text
    },
    copied() {
      throw new ConfigError('bad_usage', 'COPY cannot write JSON; leave out --json')
    },
    end() {
      const text = before === '[' ? '[]\n' : ']\n'
      before = '['
      return text
    },
  }
}

/** Returns unique names by numbering repeated names: `max`, `max_2`, `max_3`. Skips numbers that would repeat another column's name. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names)
  const used = new Set<string>()
  return names.map((name) => {
    let unique = name
    for (let number = 2; used.has(unique) || (unique !== name && taken.has(unique)); number += 1) {
      unique = `${name}_${number}`
    }
    used.add(unique)
    return unique
  })
}

function jsonOf(field: Field | undefined, value: string | null): string {
  if (value === null) return 'null'
  if (field?.form === 'boolean') return value === 't' ? 'true' : 'false'
  if (field?.form === 'json') return escapeDelete(value)
  return field?.form === 'number' && /^-?\d/.test(value) ? value : stringOf(value)
}

function stringOf(text: string): string {
  return escapeDelete(JSON.stringify(text))
}

/** Prints CSV in the format of `psql --csv`: a header line, then the rows; nothing for a statement that returns no rows. */
export const csvPrinter: Printer = {
  begin: (fields) => csvLineOf(fields.map(({ name }) => name)),
  rows: (rows) => rows.map(csvLineOf).join(''),
  copied: (bytes) => bytes,
  end: () => '',
}

function csvLineOf(values: ReadonlyArray<string | null>): string {
  // psql also quotes the value `\.`, because an unquoted `\.` ends the data of a COPY.
  const escaped = values.map((value) => (value === '\\.' ? `"${value}"` : quoteCsv(value ?? '')))
  return `${escaped.join(',')}\n`
}
