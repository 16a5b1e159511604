import type { Dirent, Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'

/** A regular file with a name that is taken; `home` is the folder of its account, `key` its path as a text. */
export type Found = {
  key: string
  account: string
  home: Buffer
  folder: Buffer
  path: Buffer
  rawName: Buffer
  name: string
  relativePath: string
  identity: Identity
}

export type Walked = {
  found: Found[]
  /** the drop folder and the folders of accounts in it */
  homes: Buffer[]
  /** folders that were entered and in which a move was left halfway, with their homes */
  halfway: Array<{ folder: Buffer; home: Buffer }>
  /** how much lies in all folders that were entered, of whatever kind */
  entries: number
  /** top-level folders that hold files and are named like no account; `.` when the default account is missing */
  strangers: string[]
  /** folders that could not be listed, and why */
  unreadable: Array<{ folder: string; error: unknown }>
}

type Place = {
  path: Buffer
  relative: Buffer
  home: Buffer
  account: string | null
  top: string
  depth: number
}

const DEFAULT_ACCOUNT = 'default'
/** Folders in folders are followed this deep below an account's folder; deeper ones are somebody's archive. */
export const MAX_DEPTH = 6
/** Looks at so many files at once; the disk's own queue is longer, the thread pool shorter. */
const LOOKS_AT_ONCE = 64

/**
 * Walks the drop folder and lists every file that may be taken. Links, pipes and devices are passed over, ignored names
 * and `done/`, `failed/` are not entered. `<dir>/<account>/` belongs to that account, everything else to `default`.
 * Throws only when the drop folder itself cannot be listed.
 */
export async function walkDropped(
  dir: string,
  input: { accounts: readonly string[]; isDroppable: (name: string) => boolean },
): Promise<Walked> {
  const walked: Walked = { found: [], homes: [], halfway: [], entries: 0, strangers: [], unreadable: [] }
  const root = Buffer.from(dir)
  const account = input.accounts.includes(DEFAULT_ACCOUNT) ? DEFAULT_ACCOUNT : null
  const places: Place[] = [{ path: root, relative: Buffer.alloc(0), home: root, account, top: '.', depth: 0 }]
  const strangers = new Set<string>()
  for (let place = places.pop(); place; place = places.pop()) {
    if (place.path === place.home) walked.homes.push(place.home)
    const entries = await listEntries(place, walked)
    walked.entries += entries.length
    const names: Buffer[] = []
    let isHalfway = false
    for (const entry of entries) {
      const name = entry.name.toString()
      if (isAside(entry.name)) isHalfway = true
      if (isIgnored(name)) continue
      if (entry.isDirectory()) {
        const inner = enter(place, entry.name, name, input.accounts)
        if (inner) places.push(inner)
      } else if (entry.isFile() && input.isDroppable(name)) {
        names.push(entry.name)
      }
    }
    if (isHalfway) walked.halfway.push({ folder: place.path, home: place.home })
    if (place.account === null && names.length > 0) strangers.add(place.top)
    // One by one, because a call takes only so many arguments.
    else for (const each of await lookAt(place, names)) walked.found.push(each)
  }
  for (const each of strangers) walked.strangers.push(each)
  return walked
}

async function listEntries(place: Place, walked: Walked): Promise<Dirent<Buffer>[]> {
  try {
    return await readdir(place.path, { withFileTypes: true, encoding: 'buffer' })
  } catch (error) {
    if (place.depth === 0 && place.top === '.') throw error
    walked.unreadable.push({ folder: place.relative.toString(), error })
    return []
  }
}

/** The folder to walk next; undefined for what is finished, or too deep. */
function enter(place: Place, rawName: Buffer, name: string, accounts: readonly string[]): Place | undefined {
  const atHome = place.path === place.home
  if (atHome && (name === DONE || name === FAILED)) return undefined
  const path = joinPath(place.path, rawName)
  const relative = joinPath(place.relative, rawName)
  if (place.relative.length === 0) {
    const account = accounts.includes(name) ? name : null
    return { path, relative, home: path, account, top: name, depth: 0 }
  }
  if (place.depth >= MAX_DEPTH) return undefined
  return { ...place, path, relative, depth: place.depth + 1 }
}

async function lookAt(place: Place, names: readonly Buffer[]): Promise<Found[]> {
  const found: Found[] = []
  for (let i = 0; i < names.length; i += LOOKS_AT_ONCE) {
    const looks = names.slice(i, i + LOOKS_AT_ONCE).map(async (rawName): Promise<Found | undefined> => {
      const path = joinPath(place.path, rawName)
      // Gone between two looks: moved on by somebody, or still under a temporary name.
      const stats = await lstat(path).catch(() => undefined)
      if (!stats?.isFile()) return undefined
      const relative = joinPath(place.relative, rawName)
      return {
        key: keyOf(relative),
        account: place.account ?? DEFAULT_ACCOUNT,
        home: place.home,
        folder: place.path,
        path,
        rawName,
        name: rawName.toString(),
        relativePath: relative.toString(),
        identity: identityOf(stats),
      }
    })
    for (const each of await Promise.all(looks)) if (each) found.push(each)
  }
  return found
}

/** Folders and files of sync tools, network stores, browsers and systems; in lower case. */
const IGNORED_NAMES: ReadonlySet<string> = new Set([
  '@eadir',
  '@recycle',
  '@tmp',
  '#recycle',
  '#snapshot',
  '$recycle.bin',
  '__macosx',
  'desktop.ini',
  'lost+found',
  'system volume information',
  'thumbs.db',
])

/** Copies that are not there yet, under the names that browsers and sync tools give them meanwhile. */
const IGNORED_PREFIX = /^(?:\.|~|#)/
const IGNORED_SUFFIX =
  /(?:\.(?:part|partial|crdownload|download|opdownload|tmp|temp|filepart|!sync|bts|swp)|~)$/i

/** The folders that finished files are moved to, below each account's folder; never scanned. */
export const DONE = 'done'
export const FAILED = 'failed'

/**
 * Whether a name is never looked at or entered: hidden (`.syncthing.*`, `.stfolder`, `._*`), `~syncthing~…`, unfinished
 * downloads (`.part`, `.crdownload`), `@eaDir` and their like. The base name only.
 */
export function isIgnored(name: string): boolean {
  return IGNORED_PREFIX.test(name) || IGNORED_SUFFIX.test(name) || IGNORED_NAMES.has(name.toLowerCase())
}

/** How names begin under which the old name of a moved file is set aside for a moment; hidden, so never scanned. */
export const ASIDE = '.moving-'

/** Whether a name is that of what was set aside in the middle of a move. */
export function isAside(name: Buffer): boolean {
  return name.toString('latin1').startsWith(ASIDE)
}

const SLASH = Buffer.from('/')

/**
 * Joins a folder and a name as bytes. Names on disk are bytes, and old devices write some that are no UTF-8; as text they
 * could not be opened again.
 */
export function joinPath(folder: Buffer, name: Buffer | string): Buffer {
  const last = typeof name === 'string' ? Buffer.from(name) : name
  return folder.length === 0 ? last : Buffer.concat([folder, SLASH, last])
}

/** Makes a text that differs for different bytes, for use as a key. */
export function keyOf(path: Buffer): string {
  return path.toString('latin1')
}

/** The folder part of a path that joinPath made. */
export function folderOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(0, path.lastIndexOf(SLASH)))
}

/** The last part of a path that joinPath made. */
export function nameOf(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf(SLASH) + 1)
}

/** What tells that a file is the same, unchanged one: size and both times of change, which no copy can turn back together. */
export type Identity = Readonly<{ size: number; mtimeMs: number; ctimeMs: number }>

/** Picks the identity out of what the disk says about a file. */
export function identityOf(stats: Stats): Identity {
  return { size: stats.size, mtimeMs: stats.mtimeMs, ctimeMs: stats.ctimeMs }
}

/** Whether two looks found the same, unchanged file. */
export function isUnchanged(before: Identity, after: Identity): boolean {
  return hasSameContent(before, after) && before.ctimeMs === after.ctimeMs
}

/** The same without the time of the last change to the entry itself, which linking and renaming set. */
export function hasSameContent(before: Identity, after: Identity): boolean {
  return before.size === after.size && before.mtimeMs === after.mtimeMs
}
