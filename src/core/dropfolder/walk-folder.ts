import type { Stats } from 'node:fs'
import { errorCode } from '../../kit/errors.ts'
import { type Folder, openFolder } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'

/** The names of the folders from the drop folder to one in it; bytes, because old devices write names that are not UTF-8. */
export type Steps = readonly Buffer[]

/** A regular file with a droppable name. `home`: the folder of its account, `root` or one directly in it; `key`: its path as a map key. */
export type Found = {
  key: string
  account: string
  root: string
  home: Steps
  folder: Steps
  rawName: Buffer
  name: string
  relativePath: string
  identity: Identity
}

export type WalkResult = Awaited<ReturnType<typeof walkFolder>>

type Place = {
  steps: Steps
  relative: Buffer
  root: string
  home: Steps
  account: string | null
  top: string
  depth: number
}

const DEFAULT_ACCOUNT = 'default'
/** How deep folders are followed below an account's folder; deeper ones are archives, not drop folders. */
export const MAX_DEPTH = 6
/** Files that are examined at once: more than the thread pool runs, fewer than a disk queues. */
const STATS_AT_ONCE = 64

/**
 * Walks the drop folder and lists every file that may be imported. Links, pipes, devices and ignored names are left out;
 * `done/` and `failed/` are not entered. `<dir>/<account>/` belongs to that account, everything else to `default`. As many folders are
 * open at a time as one lies deep.
 * Throws only when the drop folder itself cannot be listed.
 */
export async function walkFolder(
  dir: string,
  input: { accounts: readonly string[]; isDroppable: (name: string) => boolean },
) {
  const walked = {
    found: [] as Found[],
    /** the drop folder and the folders of accounts in it */
    homes: [] as Steps[],
    /** folders with the hidden name of an interrupted move in them, with their homes */
    interrupted: [] as Array<{ folder: Steps; home: Steps }>,
    /** the number of files and folders, of any kind, in all folders that were listed */
    entries: 0,
    unreadable: [] as Array<{ folder: string; error: unknown }>,
  }
  /** top-level folders with files but without an account; `.` without a default account */
  const unownedFolders = new Set<string>()
  const account = input.accounts.includes(DEFAULT_ACCOUNT) ? DEFAULT_ACCOUNT : null
  const here: Steps = []
  const top = { steps: here, relative: Buffer.alloc(0), root: dir, home: here, account, top: '.', depth: 0 }
  await closeAfter(await openFolder(dir), (folder) => walk(folder, top))
  return { ...walked, unownedFolders: [...unownedFolders] }

  async function walk(folder: Folder, place: Place): Promise<void> {
    if (place.steps === place.home) walked.homes.push(place.home)
    const entries = await folder.list()
    walked.entries += entries.length
    const names: Buffer[] = []
    const places: Place[] = []
    let hasInterrupted = false
    for (const entry of entries) {
      const name = entry.name.toString()
      if (isAside(entry.name)) hasInterrupted = true
      if (isIgnored(name) || (entry.isDirectory() && unfinishedBy(name))) continue
      if (entry.isDirectory()) {
        const inner = innerPlace(place, entry.name, name, input.accounts)
        if (inner) places.push(inner)
      } else if (entry.isFile() && (input.isDroppable(name) || unfinishedBy(name))) {
        names.push(entry.name)
      }
    }
    if (hasInterrupted) walked.interrupted.push({ folder: place.steps, home: place.home })
    if (place.account === null && names.length > 0) unownedFolders.add(place.top)
    // One by one: spreading 100,000 arguments into push() overflows the stack.
    else for (const each of await statFiles(folder, place, names)) walked.found.push(each)
    for (const inner of places) {
      try {
        await closeAfter(await folder.openInner(nameOf(inner)), (opened) => walk(opened, inner))
      } catch (error) {
        // It may be gone since it was listed.
        if (errorCode(error) !== 'ENOENT')
          walked.unreadable.push({ folder: inner.relative.toString(), error })
      }
    }
  }
}

const nameOf = ({ steps }: Place) => steps.at(-1) as Buffer

/** Returns a folder inside another, to be walked; undefined for `done/`, `failed/`, and one that is too deep. */
function innerPlace(place: Place, rawName: Buffer, name: string, accounts: readonly string[]) {
  const atHome = place.steps === place.home
  if (atHome && (name === DONE || name === FAILED)) return undefined
  const steps = [...place.steps, rawName]
  const relative = joinPath(place.relative, rawName)
  if (place.relative.length === 0) {
    const account = accounts.includes(name) ? name : null
    return { ...place, steps, relative, home: steps, account, top: name, depth: 0 }
  }
  if (place.depth >= MAX_DEPTH) return undefined
  return { ...place, steps, relative, depth: place.depth + 1 }
}

async function statFiles(folder: Folder, place: Place, names: readonly Buffer[]): Promise<Found[]> {
  const found: Found[] = []
  for (let i = 0; i < names.length; i += STATS_AT_ONCE) {
    const reads = names.slice(i, i + STATS_AT_ONCE).map(async (rawName): Promise<Found | undefined> => {
      // It may be gone since it was listed: moved by another process, or a temporary name.
      const stats = await folder.lstat(rawName).catch(() => undefined)
      if (!stats?.isFile()) return undefined
      const relative = joinPath(place.relative, rawName)
      return {
        key: keyOf(relative),
        account: place.account ?? DEFAULT_ACCOUNT,
        root: place.root,
        home: place.home,
        folder: place.steps,
        rawName,
        name: rawName.toString(),
        relativePath: relative.toString(),
        identity: identityOf(stats),
      }
    })
    for (const each of await Promise.all(reads)) if (each) found.push(each)
  }
  return found
}

/** Folders and files of sync tools, network storage and operating systems; in lower case. */
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

/** The endings that programs put behind the names of files until they are finished. */
const UNFINISHED: Readonly<Record<string, string>> = {
  ...{ part: 'Firefox', crdownload: 'Chrome', download: 'Safari', opdownload: 'Opera', partial: 'Edge' },
  ...{ filepart: 'WinSCP', '!sync': 'Resilio Sync', bts: 'Resilio Sync', tmp: 'OneDrive', temp: 'OneDrive' },
}

/** Finds the program that gives such a name to a file until it is finished; undefined for every other name. */
export function unfinishedBy(name: string): string | undefined {
  if (/^~syncthing~/i.test(name)) return 'Syncthing'
  const [, ending = ''] = /\.(?:fit|gz|zip)\.([^.]+)$/i.exec(name) ?? []
  return UNFINISHED[ending.toLowerCase()]
}

/** The folders that imported and refused files are moved to, below each account's folder; never scanned. */
export const DONE = 'done'
export const FAILED = 'failed'

/** Whether scans ignore a name: hidden (`.syncthing.*`, `.stfolder`, `._*`), `@eaDir` and the like. Takes the base name only. */
export function isIgnored(name: string): boolean {
  return name.startsWith('.') || IGNORED_NAMES.has(name.toLowerCase())
}

/** The prefix of the hidden name that a file has for a moment while it is moved; never scanned. */
export const ASIDE = '.moving-'

const ASIDE_NAME = /^\.moving-[0-9a-f]{16}(?:-|$)/

export function isAside(name: Buffer): boolean {
  return ASIDE_NAME.test(name.toString('latin1'))
}

const SLASH = Buffer.from('/')

function joinPath(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 0 ? name : Buffer.concat([folder, SLASH, name])
}

/** Converts a path, or the steps of one, to a string for use as a key; different bytes give different strings. */
export function keyOf(path: Buffer | Steps): string {
  return Buffer.isBuffer(path) ? path.toString('latin1') : path.map(keyOf).join('/')
}

/** Identifies one version of a file: its size and both times of change; copying tools set the one and cannot set the other. */
export type Identity = Readonly<{ size: number; mtimeMs: number; ctimeMs: number }>

export function identityOf(stats: Stats): Identity {
  return { size: stats.size, mtimeMs: stats.mtimeMs, ctimeMs: stats.ctimeMs }
}

export function isUnchanged(before: Identity, after: Identity): boolean {
  return hasSameContent(before, after) && before.ctimeMs === after.ctimeMs
}

/** The same without `ctime`, which linking and renaming set. */
export function hasSameContent(before: Identity, after: Identity): boolean {
  return before.size === after.size && before.mtimeMs === after.mtimeMs
}
