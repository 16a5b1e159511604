/** Reads a table of cases that is written as text: a line a row, its cells between bars. */
export function readTable(text: string): string[][] {
  const lines = text.trim().split('\n')
  return lines.map((line) => line.split(/ \|(?= |$)/).map((cell) => cell.trim()))
}

/** Reads words that are written as one text. */
export const readWords = (text: string) => text.trim().split(/\s+/)
