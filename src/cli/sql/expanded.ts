import type { Row } from '../../store/raw-query.ts'
import { cellOf } from '../table.ts'
import { escapeControls, padTo, widthOf, wrapTo } from '../terminal-text.ts'

/** A value has this much of a line at least, in columns, beside names that are longer than the terminal is wide. */
const NARROWEST_VALUE = 20
const TITLE_WIDTH = 40
const GAP = '  '

/**
 * Makes a function that writes rows one value a line, under a line with the row's number. Values keep their line breaks;
 * with `columns`, longer lines go on in the next one. Nothing is cut.
 */
export function makeExpandedRows(
  fields: readonly string[],
  columns?: number,
): (rows: readonly Row[]) => string {
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
