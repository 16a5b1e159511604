import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'

/** The folder of the compiled modules, as stack traces name it. */
const COMPILED = new URL('..', import.meta.url).href

/**
 * Replaces the lines of dist/ in stack traces by those of src/, for text that contains stack traces: of an error or of a log line.
 * The source maps are read here and not by Node, which would read all of them whenever the program starts.
 */
export function nameSourceLines(text: string): string {
  if (!text.includes(COMPILED)) return text
  return text.replace(/file:\/\/[^\s"]+?\.js:\d+:\d+/g, (place) =>
    place.startsWith(COMPILED) ? (readSourceLine(place) ?? place) : place,
  )
}

/** Returns undefined for a module whose source map cannot be read. */
function readSourceLine(place: string): string | undefined {
  const [, module = '', line, column] = /^(.+):(\d+):(\d+)$/.exec(place) ?? []
  try {
    const map = new SourceMap(JSON.parse(readFileSync(new URL(`${module}.map`), 'utf8')))
    const entry = map.findEntry(Number(line) - 1, Number(column) - 1)
    if (!('originalSource' in entry)) return undefined
    return `${new URL(entry.originalSource, module).href}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  } catch {
    return undefined
  }
}
