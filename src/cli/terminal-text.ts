import width from 'fast-string-width'
import { nameControls } from '../kit/control-characters.ts'

const graphemes = new Intl.Segmenter()

/** What a terminal shows nothing of: marks of direction, joiners that stand alone. Joiners inside an emoji belong to it. */
const INVISIBLE = /(?!\u200d|[\u{e0020}-\u{e007f}])\p{Cf}/gu

/**
 * Writes control characters as psql does, `\x1B`, `\r`, `\u009B`, so that no text can steer the terminal. Tabs become
 * spaces; line breaks stay.
 */
export function escapeControls(text: string): string {
  if (isPlain(text)) return text
  return nameControls(text).replace(
    /[^\t\n]*\t/g,
    (part) => part.slice(0, -1) + ' '.repeat(8 - (widthOf(part.slice(0, -1)) % 8)),
  )
}

/** The number of a terminal's columns that a line takes. */
export function widthOf(line: string): number {
  // Decomposed Korean is counted by its syllables, as terminals show it.
  return isPlain(line) ? line.length : width(line.normalize('NFC').replace(INVISIBLE, ''))
}

/** Cuts a line that is wider than `limit` columns and ends it with an ellipsis. */
export function cutTo(line: string, limit: number): string {
  if (widthOf(line) <= limit) return line
  const [start = ''] = wrapTo(line, limit - 1)
  return `${widthOf(start) < limit ? start : ''}…`
}

/** Breaks a line into pieces of at most `limit` columns, never inside of what is one character to a person. */
export function wrapTo(line: string, limit: number): string[] {
  if (widthOf(line) <= limit) return [line]
  const pieces: string[] = []
  let piece = ''
  let taken = 0
  for (const { segment } of graphemes.segment(line)) {
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

/** Fills a cell with spaces up to a width in columns. */
export function padTo(cell: string, columns: number, side: 'left' | 'right'): string {
  const spaces = ' '.repeat(Math.max(0, columns - widthOf(cell)))
  return side === 'left' ? cell + spaces : spaces + cell
}

function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}
