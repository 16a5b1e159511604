import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folder that contains package.json, dist/ and drizzle/: a checkout, or the installed package. */
export const PROGRAM_FOLDER = findProgramFolder(dirname(fileURLToPath(import.meta.url)))

export const VERSION: string = JSON.parse(readFileSync(join(PROGRAM_FOLDER, 'package.json'), 'utf8')).version

/** The folder of the built program, as stack traces name it. */
const BUILT = pathToFileURL(join(PROGRAM_FOLDER, 'dist/')).href

/**
 * Replaces the lines of dist/ in stack traces by those of src/, for text that contains stack traces: of an error or of a log line.
 * The source maps are read here and not by Node, which would read all of them whenever the program starts.
 */
export function nameSourceLines(text: string): string {
  if (!text.includes(BUILT)) return text
  // Not kept for the next text: they are large, and errors are few.
  const maps = new Map<string, SourceMap | undefined>()
  return text.replace(
    /(file:\/\/[^\s"]+?\.js):(\d+):(\d+)/g,
    (place, file: string, line: string, column: string) => {
      if (!file.startsWith(BUILT)) return place
      if (!maps.has(file)) maps.set(file, readSourceMap(file))
      const entry = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1)
      if (!entry || !('originalSource' in entry)) return place
      // A line of a library has no source of ours, and a line without any has no value here, unlike its type says.
      const source = String(entry.originalSource)
      if (!source.endsWith('.ts') || !URL.canParse(source, file)) return place
      return `${new URL(source, file).href}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    },
  )
}

function readSourceMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8')))
  } catch {
    return undefined
  }
}

/** The program runs from src/ or dist/; the first package.json above is its own. */
function findProgramFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findProgramFolder(dirname(folder))
}
