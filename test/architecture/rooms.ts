import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readTop } from '../container/dockerfile.ts'

/** What a file imports: `target` is a path from where that of the file begins, or a package's name. `late`: by import(). */
type Import = { target: string; typeOnly: boolean; late: boolean }
/** A source file and what it imports. */
export type SourceFile = { path: string; text: string; imports: Import[] }

const [, TABLE = ''] = /\n## Rooms\n([\s\S]*?)\n## /.exec(readTop('ARCHITECTURE.md')) ?? []
const ROWS = [...TABLE.matchAll(/^\| `([\w/]+)` \| .+? \| ?(.*?) ?\|$/gm)]

/** The rooms of ARCHITECTURE.md from the top down: a type may come from any room below, so that no shape is typed twice. */
const ROOMS = ROWS.map(([, room = '']) => room)
const BELOW_APP = ROOMS.slice(ROOMS.indexOf('program/app') + 1)

/** The rooms whose code each room may run, besides itself and kit, as that table says. */
const ALLOWED: ReadonlyMap<string, readonly string[]> = new Map(
  ROWS.map(([, room = '', cell = '']) => {
    const named = cell.replace(/every room below(?: it| program.app)$/, BELOW_APP.join(', '))
    return [room, named.split(/, (?:and )?| and /)]
  }),
)

/** Packages that only one room may know, or none. */
const OWNED_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  bullmq: ['core/jobs'],
  mqtt: ['features'],
  ioredis: ['core/jobs'],
  undici: ['core/service', 'kit'],
  'drizzle-orm': ['features', 'core/vault', 'core/store'],
  'pg-copy-streams': ['core/store'],
  chokidar: ['core/dropfolder'],
  yauzl: ['core/fit'],
  commander: ['program/cli', 'program/frame', 'features'],
  fastify: ['program/web', 'features', 'program/frame'],
  'prom-client': ['features'],
  '@fastify/cookie': ['program/web'],
  '@fastify/helmet': ['program/web'],
  '@fastify/rate-limit': ['program/web'],
  '@fastify/static': ['features'],
  uplot: ['features'],
  preact: ['features'],
  '@tanstack/virtual-core': ['features'],
  '@modelcontextprotocol/server': ['features'],
  // Its agreement does not allow passing it on, so it is a tool of tests.
  '@garmin/fitsdk': [],
}

/** Reads the sources of `src`, or of another folder beside it. */
export function readSources(folder = 'src'): SourceFile[] {
  const top = fileURLToPath(new URL(`../../${folder}`, import.meta.url))
  return readdirSync(top, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:tsx?|mjs)$/.test(name))
    .map((name) => parseSource(name, readFileSync(join(top, name), 'utf8')))
}

export function parseSource(path: string, text: string): SourceFile {
  const imports: SourceFile['imports'] = []
  for (const match of text.matchAll(/^(?:import|export)\s+(type\s+)?([^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)) {
    const names = match[2] ?? ''
    const inlineTypes =
      /^\{[^}]*\}/.test(names) &&
      names
        .replace(/[{}]|\sfrom\s/g, '')
        .split(',')
        .every((name) => /^\s*(type\s|$)/.test(name))
    const target = targetOf(path, match[3] as string)
    imports.push({ target, typeOnly: match[1] !== undefined || inlineTypes, late: false })
  }
  for (const [, specifier = ''] of text.matchAll(/\bimport\('([^']+)'\)/g))
    imports.push({ target: targetOf(path, specifier), typeOnly: false, late: true })
  return { path, text, imports }
}

function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(dirname(path), specifier)
  return specifier.startsWith('@') ? specifier.split('/', 2).join('/') : (specifier.split('/')[0] as string)
}

function roomOf(path: string): string {
  const [part = '', room = ''] = path.split('/')
  return (/^(?:core|program)$/.test(part) ? `${part}/${room}` : part).replace(/\.tsx?$/, '')
}

function featureOf(path: string): string | undefined {
  return /^features\/([^/]+)\//.exec(path)?.[1]
}

export function listViolations(files: readonly SourceFile[]): string[] {
  const violations: string[] = []
  for (const file of files) {
    const room = roomOf(file.path)
    if (!ROOMS.includes(room)) violations.push(`${file.path} stands in no known room`)
    for (const { target, typeOnly } of file.imports) {
      if (!/\.tsx?$/.test(target)) {
        const owners = OWNED_PACKAGES[target]
        if (owners && !owners.includes(room)) violations.push(`${file.path} imports the package ${target}`)
        continue
      }
      const other = roomOf(target)
      const runs = other === room || other === 'kit' || ALLOWED.get(room)?.includes(other)
      const readsType = typeOnly && ROOMS.indexOf(other) > ROOMS.indexOf(room)
      const feature = featureOf(target)
      // Only the list of features names the folders of others.
      const isOthers =
        feature !== undefined && feature !== featureOf(file.path) && file.path !== 'features/index.ts'
      if (isOthers || (!runs && !readsType)) violations.push(`${file.path} imports ${target}`)
    }
  }
  return violations
}

/** Finds one cycle of imports, of types too, as a list of files; undefined when there is none. */
export function findCycle(files: readonly SourceFile[]): string[] | undefined {
  const edges = new Map(files.map((file) => [file.path, file.imports.map((edge) => edge.target)]))
  const done = new Set<string>()
  const visit = (path: string, trail: string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
    if (done.has(path)) return undefined
    for (const next of edges.get(path) ?? []) {
      const cycle = edges.has(next) ? visit(next, [...trail, path]) : undefined
      if (cycle) return cycle
    }
    done.add(path)
    return undefined
  }
  for (const path of edges.keys()) {
    const cycle = visit(path, [])
    if (cycle) return cycle
  }
  return undefined
}

const IN_A_PAGE = /^features\/dashboard\/pages\/\w+\//

/** Lists the imports of a page that are another page's, and those of the browser's files that run what only Node can. */
export function listPageViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, imports }) => {
    const page = path.match(IN_A_PAGE)?.[0]
    const isBrowsers = path.startsWith('features/dashboard/shared/') || path.endsWith('.tsx')
    return imports
      .filter(({ target, typeOnly }) => {
        const isOther = page !== undefined && IN_A_PAGE.test(target) && !target.startsWith(page)
        const isNodes = /\/(?:queries|routes)\.ts$/.test(target) || !target.startsWith('features/dashboard/')
        return isOther || (isBrowsers && !typeOnly && /\.tsx?$/.test(target) && isNodes)
      })
      .map(({ target }) => `${path} imports ${target}`)
  })
}

/** The rooms below whose folders others may put anything: they reach files through open folders (kit/folders) only. */
const HELD =
  /^(?:core\/dropfolder|features\/(?:backup|export|workoutfiles)|kit\/folders)\/|^program\/app\/files\/drop-file\.ts$/
/** The files there that use paths, and why that is right. */
const BY_PATH: ReadonlyMap<string, string> = new Map([
  ['kit/folders/folder.ts', 'opens folders, and makes the paths through their handles'],
  ['core/dropfolder/open-writers.ts', 'reads /proc'],
  [
    'features/backup/archive/named-file.ts',
    'a person names the file, which may be a link, a pipe or a device',
  ],
  ['features/backup/backups.ts', 'the temporary server lies in the data directory'],
  ['features/backup/database/foreign-parts.ts', 'reads the migrations of the program'],
  ['features/backup/state.ts', 'looks for the key in the data directory'],
])
/** What kit/files.ts offers that takes no path, or only looks at the size of its disk. */
const WITHOUT_PATH = ['orMissing', 'orNone', 'readRoom']

/** Lists the imports by which a room of held folders could reach a file by its path. */
export function listPathUses(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (!HELD.test(path) || BY_PATH.has(path)) return []
    const named = [...text.matchAll(/^import ([^'"]*?) from '([^']+)'/gm)].flatMap(
      ([, names = '', from = '']) => {
        const isFiles =
          from.endsWith('/kit/files.ts') || (path.startsWith('kit/') && from.endsWith('/files.ts'))
        if (names.startsWith('type ') || !(/^(?:node:)?fs(?:\/promises)?$/.test(from) || isFiles)) return []
        const each = names
          .replace(/[{}]/g, '')
          .split(',')
          .map((name) => name.trim())
        const allowed = isFiles ? WITHOUT_PATH : ['constants']
        return each.filter((name) => name !== '' && !name.startsWith('type ') && !allowed.includes(name))
      },
    )
    const late = /\bimport\('(?:node:)?fs(?:\/promises)?'\)/.test(text) ? ['import()'] : []
    return [...named, ...late].map((name) => `${path} uses ${name}, which takes a path; use an open folder`)
  })
}

/** Lists the exceptions that are none any more. */
export function listIdleExceptions(files: readonly SourceFile[]): string[] {
  const usesFs = (file: SourceFile) => /from 'node:fs(?:\/promises)?'/.test(file.text)
  return [...BY_PATH.keys()].filter((path) => !files.some((file) => file.path === path && usesFs(file)))
}
