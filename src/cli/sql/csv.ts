import type { Printer } from './printer.ts'

/** Makes a printer of CSV as `psql --csv` prints it: a line of names, then the rows; a statement without rows prints nothing. */
export function makeCsvPrinter(): Printer {
  return {
    begin: (fields) => recordOf(fields.map(({ name }) => name)),
    rows: (rows) => rows.map(recordOf).join(''),
    copied: (bytes) => bytes,
    end: () => '',
  }
}

function recordOf(values: ReadonlyArray<string | null>): string {
  return `${values.map(escapeField).join(',')}\n`
}

// psql quotes the two signs that end the data of a COPY, too.
function escapeField(value: string | null): string {
  if (value === null) return ''
  return /[",\r\n]/.test(value) || value === '\\.' ? `"${value.replaceAll('"', '""')}"` : value
}
