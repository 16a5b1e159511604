/** Parses a table of cases: a line per row, cells between bars. */
export function readTable(text: string): string[][] {
  const lines = text.trim().split('\n')
  return lines.map((line) => line.split(/ \|(?= |$)/).map((cell) => cell.trim()))
}

export const readWords = (text: string) => text.trim().split(/\s+/)

/** Parses settings written as in a shell: `A=x B=y`. */
export function readEnv(text: string): Record<string, string> {
  const pairs = text.split(' ').filter((pair) => pair !== '')
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
}
