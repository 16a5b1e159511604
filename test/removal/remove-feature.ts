import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSource } from '../architecture/rooms.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const NOT_COPIED = ['node_modules', '.git', 'dist', '.musette']
const SCANNER = 'dist/scan-rows.wasm'
const LIST = 'src/features/index.ts'

/**
 * Copies this checkout into a folder without some features: removes their folders, their imports and names in the list, and each test that
 * imports a removed file or test. Returns the removed tests.
 */
export function copyWithout(features: readonly string[], copy: string): string[] {
  cpSync(root, copy, { recursive: true, filter: (path) => !NOT_COPIED.includes(relative(root, path)) })
  linkLibraries(copy)
  // The scanner takes seconds to compile and belongs to no feature.
  cpSync(join(root, SCANNER), join(copy, SCANNER))
  const list = join(copy, LIST)
  for (const feature of features) {
    rmSync(join(copy, 'src/features', feature), { recursive: true })
    rmSync(join(copy, 'test/features', feature), { recursive: true, force: true })
    writeFileSync(list, withoutFeature(readFileSync(list, 'utf8'), feature))
  }
  return removeDanglingTests(copy)
}

/** Links each library separately, so that files written beside them belong to the copy. */
function linkLibraries(copy: string): void {
  const libraries = join(copy, 'node_modules')
  mkdirSync(libraries)
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.vite') symlinkSync(join(root, 'node_modules', name), join(libraries, name))
}

/** Returns the list of features without one feature's import and name. */
function withoutFeature(list: string, feature: string): string {
  const from = `from './${feature}/feature.ts'`
  const name = new RegExp(`import \\{ (\\w+) \\} ${from}`).exec(list)?.[1]
  if (!name) throw new Error(`${LIST} does not import the feature ${feature}`)
  const lines = list.split('\n')
  return lines.filter((line) => !line.endsWith(from) && line.trim() !== `${name},`).join('\n')
}

function removeDanglingTests(copy: string): string[] {
  const removed: string[] = []
  for (;;) {
    const dangling = listDangling(copy, 'test')
    if (dangling.length === 0) return removed
    for (const path of dangling) rmSync(join(copy, path))
    removed.push(...dangling)
  }
}

/** Lists the files below a folder of a copy that import a missing file. */
export function listDangling(copy: string, folder: 'src' | 'test'): string[] {
  const names = readdirSync(join(copy, folder), { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => /\.tsx?$/.test(name)).map((name) => join(folder, name))
  return files.filter((path) =>
    parseSource(path, readFileSync(join(copy, path), 'utf8')).imports.some(
      ({ target }) => /\/.*\.tsx?$/.test(target) && !existsSync(join(copy, target)),
    ),
  )
}
