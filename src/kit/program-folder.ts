import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folder with package.json, dist/ and drizzle/: a checkout, or the installed package. */
export const PROGRAM_FOLDER = findProgramFolder(dirname(fileURLToPath(import.meta.url)))

export const VERSION: string = JSON.parse(readFileSync(join(PROGRAM_FOLDER, 'package.json'), 'utf8')).version

/** URL of the folder of the built program, as in stack traces. */
const BUILT = pathToFileURL(join(PROGRAM_FOLDER, 'dist/')).href

/**
 * Replaces positions in dist/ with positions in src/ in an error or a log line with stack traces. Reads the source maps only if needed,
 * because Node would read all of them at every start of the program.
 */
export function nameSourceLines(text: string): string {
  if (!text.includes(BUILT)) return text
  // Not cached, because source maps are large and errors are rare.
  const maps = new Map<string, SourceMap | undefined>()
  return text.replace(
    /(file:\/\/[^\s"]+?\.js):(\d+):(\d+)/g,
    (place, file: string, line: string, column: string) => {
      if (!file.startsWith(BUILT)) return place
      if (!maps.has(file)) maps.set(file, readSourceMap(file))
      const entry = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1)
      if (!entry || !('originalSource' in entry)) return place
      // A line of a library has no source of ours. Despite its type, the value is missing for a line without a source.
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

/** Finds the nearest folder above with a package.json. The program runs from src/ or dist/. */
function findProgramFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findProgramFolder(dirname(folder))
}
