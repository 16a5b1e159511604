import { ConfigError } from '../kit/errors.ts'
import { escapeDelete } from '../kit/text.ts'
import type { Field, QueryResult, Row } from '../store/query/raw-query.ts'
import { cellOf, escapeControls, makeLayout, padTo, widthOf, wrapTo } from './output.ts'

/** Writes the answers of statements as text, piece by piece; what it returns is printed as it is, line breaks included. */
export type Printer = {
  /** The beginning of an answer that has rows. */
  begin(fields: readonly Field[]): string
  /** The next rows of the answer that has begun. */
  rows(rows: readonly Row[]): string
  /** The next bytes that COPY … TO STDOUT writes. */
  copied(bytes: Uint8Array): Uint8Array
  /** The end of a statement, whether it had an answer with rows or not. */
  end(command: string): string
}

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

/** A value has this much of a line at least, in columns, beside names that are longer than the terminal is wide. */
const NARROWEST_VALUE = 20
const TITLE_WIDTH = 40
const GAP = '  '

/**
 * Makes a function that writes rows one value a line, under a line with the row's number. Values keep their line breaks;
 * with `columns`, longer lines go on in the next one. Nothing is cut.
 */
function makeExpandedRows(fields: readonly string[], columns?: number): (rows: readonly Row[]) => string {
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
    const title = padTitle(`─[ row ${number} ]`, Math.min(columns ?? TITLE_WIDTH, TITLE_WIDTH))
    const lines = names.map((name, index) => {
      const [first = '', ...more] = linesOf(row[index] ?? '')
      const start = first === '' ? name : padTo(name, nameWidth, 'left') + GAP + first
      return [start, ...more.map((line) => margin + line)].join('\n')
    })
    return `${[title, ...lines].join('\n')}\n`
  }
  return (rows) => rows.map(write).join('')
}

function padTitle(title: string, width: number): string {
  return title + '─'.repeat(Math.max(0, width - title.length))
}

/**
 * Makes a printer of one JSON array for each statement, a row in a line. Nothing is lost: a name that comes again is
 * numbered, JSON stays as it is, and what JavaScript would round (bigint, numeric) or JSON does not know (infinity) is a string.
 */
export function makeJsonPrinter(): Printer {
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
      const text = before + rows.map((row) => objectOf(names, fields, row)).join(',\n')
      before = ',\n'
      return text
    },
    copied() {
      throw new ConfigError('bad_usage', 'what COPY writes is not JSON; leave out --json')
    },
    end() {
      const text = before === '[' ? '[]\n' : ']\n'
      before = '['
      return text
    },
  }
}

/** Numbers the second and later columns of one name, `max`, `max_2`, `max_3`, past the names that other columns have. */
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

function objectOf(names: readonly string[], fields: readonly Field[], row: Row): string {
  const members = names.map((name, index) => `${name}:${jsonOf(fields[index], row[index] ?? null)}`)
  return `{${members.join(',')}}`
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

/** Makes a printer of CSV as `psql --csv` prints it: a line of names, then the rows; a statement without rows prints nothing. */
export function makeCsvPrinter(): Printer {
  return {
    begin: (fields) => csvLineOf(fields.map(({ name }) => name)),
    rows: (rows) => rows.map(csvLineOf).join(''),
    copied: (bytes) => bytes,
    end: () => '',
  }
}

function csvLineOf(values: ReadonlyArray<string | null>): string {
  return `${values.map(escapeField).join(',')}\n`
}

// psql quotes the two signs that end the data of a COPY, too.
function escapeField(value: string | null): string {
  if (value === null) return ''
  return /[",\r\n]/.test(value) || value === '\\.' ? `"${value.replaceAll('"', '""')}"` : value
}
