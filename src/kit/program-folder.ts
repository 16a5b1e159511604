import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folder that contains package.json, dist/ and drizzle/: a checkout, or the installed package. */
export const PROGRAM_FOLDER = findProgramFolder(dirname(fileURLToPath(import.meta.url)))

/** The folder of the built program, as stack traces name it. */
const BUILT = pathToFileURL(join(PROGRAM_FOLDER, 'dist/')).href

/**
 * Replaces the lines of dist/ in stack traces by those of src/, for text that contains stack traces: of an error or of a log line.
 * The source maps are read here and not by Node, which would read all of them whenever the program starts.
 */
export function nameSourceLines(text: string): string {
  if (!text.includes(BUILT)) return text
  return text.replace(/file:\/\/[^\s"]+?\.js:\d+:\d+/g, (place) =>
    place.startsWith(BUILT) ? (readSourceLine(place) ?? place) : place,
  )
}

/** Returns undefined for a line that no source map names: one of a library. */
function readSourceLine(place: string): string | undefined {
  const [, module = '', line, column] = /^(.+):(\d+):(\d+)$/.exec(place) ?? []
  try {
    const map = new SourceMap(JSON.parse(readFileSync(new URL(`${module}.map`), 'utf8')))
    const entry = map.findEntry(Number(line) - 1, Number(column) - 1)
    if (!('originalSource' in entry) || !entry.originalSource.endsWith('.ts')) return undefined
    return `${new URL(entry.originalSource, module).href}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  } catch {
    return undefined
  }
}

/** The program runs from src/ and from dist/, whose folders differ; the first package.json above either is its own. */
function findProgramFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findProgramFolder(dirname(folder))
}
