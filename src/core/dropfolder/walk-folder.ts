import type { Dirent, Stats } from 'node:fs'
import { readableName } from '../../kit/folders/file-name.ts'
import { type Folder, openFolder } from '../../kit/folders/folder.ts'
import { oddKindOf, type Steps, type Walked, walkFolders } from '../../kit/folders/walk.ts'
import { closeAfter } from '../../kit/release-stack.ts'

export type { Steps } from '../../kit/folders/walk.ts'

/** A regular file whose name is accepted. `home`: its account's folder, `root` or a folder directly in it. `key`: its path as a map key. */
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

const DEFAULT_ACCOUNT = 'default'
/** Maximum depth of folders below an account's folder; deeper folders are archives, not drop folders. */
export const MAX_DEPTH = 6
/** Number of concurrent lstat calls: more than the thread pool runs, and fewer than a disk can queue. */
const STATS_AT_ONCE = 64

/**
 * Walks the drop folder and lists every file that may be imported. Leaves out links, pipes, devices and ignored names, and does not enter
 * `done/` and `failed/`. `<dir>/<account>/` belongs to that account, everything else to `default`. Keeps one folder open per level. Throws
 * only if the drop folder itself cannot be listed.
 */
export async function walkFolder(
  dir: string,
  input: { accounts: readonly string[]; isDroppable: (name: string) => boolean },
) {
  const walked = {
    found: [] as Found[],
    /** the drop folder and the account folders in it */
    homes: [] as Steps[],
    /** folders that contain the hidden name of an interrupted move, with their homes */
    interrupted: [] as Array<{ folder: Steps; home: Steps }>,
    /** the number of files and folders of any kind in all listed folders */
    entries: 0,
    unreadable: [] as Array<{ folder: string; error: unknown }>,
    /** entries that a person may take for a ride but scans skip: the first few, and their total number */
    leftOut: [] as LeftOut[],
    leftOutCount: 0,
  }
  /** top-level folders with files but without an account; `.` if there is no default account */
  const unownedFolders = new Set<string>()
  const unreadable = await closeAfter(await openFolder(dir), (top) => walkFolders(top, visit))
  for (const { steps, error } of unreadable) walked.unreadable.push({ folder: shownPath(steps), error })
  return { ...walked, unownedFolders: [...unownedFolders] }

  async function visit({ folder, steps, entries }: Walked): Promise<Buffer[]> {
    const isHome = steps.length <= 1
    if (isHome) walked.homes.push(steps)
    walked.entries += entries.length
    const owner = steps[0]?.toString() ?? DEFAULT_ACCOUNT
    const account = input.accounts.includes(owner) ? owner : null
    const names: Buffer[] = []
    const inner: Buffer[] = []
    let hasInterrupted = false
    for (const entry of entries) {
      const name = entry.name.toString()
      if (isAside(entry.name)) hasInterrupted = true
      if (isIgnored(name) || (entry.isDirectory() && unfinishedBy(name))) continue
      if (entry.isDirectory()) {
        const isFinished = isHome && (name === DONE || name === FAILED)
        if (!isFinished && steps.length <= MAX_DEPTH) inner.push(entry.name)
      } else if (entry.isFile() && (input.isDroppable(name) || unfinishedBy(name))) {
        names.push(entry.name)
      } else {
        const reason = whyLeftOut(entry, name)
        if (reason === undefined) continue
        walked.leftOutCount += 1
        if (walked.leftOutCount > MAX_LEFT_OUT) continue
        walked.leftOut.push({ relativePath: shownPath([...steps, entry.name]), account, reason })
      }
    }
    const home = steps.slice(0, 1)
    if (hasInterrupted) walked.interrupted.push({ folder: steps, home })
    if (account === null && names.length > 0) unownedFolders.add(steps[0] ? shownPath(home) : '.')
    if (account === null) return inner
    const place = { account, root: dir, home, folder: steps }
    // push() gets one file at a time, because spreading 100,000 arguments overflows the stack.
    for (const each of await statFiles(folder, place, names)) walked.found.push(each)
    return inner
  }
}

/** An empty last step: joined paths then end in a slash. */
const NO_NAME = Buffer.alloc(0)

const shownPath = (steps: Steps) => steps.map(readableName).join('/')

async function statFiles(
  folder: Folder,
  { account, root, home, folder: steps }: Pick<Found, 'account' | 'root' | 'home' | 'folder'>,
  names: readonly Buffer[],
): Promise<Found[]> {
  const found: Found[] = []
  const [keyBefore, shownBefore] = [keyOf([...steps, NO_NAME]), shownPath([...steps, NO_NAME])]
  for (let i = 0; i < names.length; i += STATS_AT_ONCE) {
    const some = names.slice(i, i + STATS_AT_ONCE)
    const stats = await folder.lstatAll(some)
    for (const [n, rawName] of some.entries()) {
      // The file may be gone: another process moved it, or its name was temporary.
      const of = stats[n]
      if (!of?.isFile()) continue
      const name = readableName(rawName)
      const key = keyBefore + keyOf([rawName])
      const place = { root, home, folder: steps, key, rawName, relativePath: shownBefore + name }
      found.push({ account, name, identity: identityOf(of), ...place })
    }
  }
  return found
}

/** A skipped entry of the drop folder, and the reason. */
export type LeftOut = { relativePath: string; account: string | null; reason: string }

/** Maximum entries kept: they show a person which kinds there are, and a folder may have thousands. */
const MAX_LEFT_OUT = 20

/** Returns why scans skip an entry that a person may take for a ride; undefined for all other entries. */
function whyLeftOut(entry: Dirent<Buffer>, name: string): string | undefined {
  const kind = oddKindOf(entry)
  if (kind === 'a link')
    return 'it is a link, and musette follows no links; put the file itself here, or set MUSETTE_DROP_DIR to the folder'
  if (kind !== undefined) return `it is ${kind}, not a file; remove it`
  if (/\.(?:gpx|tcx)(?:\.gz)?$/i.test(name))
    return 'the service accepts FIT files only; put the FIT file of this ride here, and remove this file'
  if (!/\.fit\.txt$/i.test(name)) return undefined
  return 'its name ends in .txt; if it is a FIT file, rename it to end in .fit, otherwise remove it'
}

/** Names of files and folders that belong to sync tools, network storage and operating systems, in lower case. */
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

/** File name extensions of unfinished files, and the program that adds each. */
const UNFINISHED: Readonly<Record<string, string>> = {
  ...{ part: 'Firefox', crdownload: 'Chrome', download: 'Safari', opdownload: 'Opera', partial: 'Edge' },
  ...{ filepart: 'WinSCP', '!sync': 'Resilio Sync', bts: 'Resilio Sync', tmp: 'OneDrive', temp: 'OneDrive' },
}

/** Returns the program that uses this name for unfinished files; undefined for any other name. */
export function unfinishedBy(name: string): string | undefined {
  if (/^~syncthing~/i.test(name)) return 'Syncthing'
  const [, ending = ''] = /\.(?:fit|gz|zip)\.([^.]+)$/i.exec(name) ?? []
  return UNFINISHED[ending.toLowerCase()]
}

/** The folders for imported and for refused files, in each account's folder; scans skip them. */
export const DONE = 'done'
export const FAILED = 'failed'

/** Reports whether scans ignore a base name: hidden (`.syncthing.*`, `.stfolder`, `._*`), `@eaDir` and the like. */
export function isIgnored(name: string): boolean {
  return name.startsWith('.') || IGNORED_NAMES.has(name.toLowerCase())
}

/** Prefix of the hidden name that a file has for a moment during a move; scans skip it. */
export const ASIDE = '.moving-'

const ASIDE_NAME = /^\.moving-[0-9a-f]{16}(?:-|$)/

export function isAside(name: Buffer): boolean {
  return ASIDE_NAME.test(name.toString('latin1'))
}

/** Converts a path or its steps to a string key; different bytes give different strings. */
export function keyOf(path: Buffer | Steps): string {
  return Buffer.isBuffer(path) ? path.toString('latin1') : path.map(keyOf).join('/')
}

/** Identifies one version of a file by its size, mtime and ctime. Copying tools set mtime and cannot set ctime. */
export type Identity = Readonly<{ size: number; mtimeMs: number; ctimeMs: number }>

export function identityOf(stats: Stats): Identity {
  return { size: stats.size, mtimeMs: stats.mtimeMs, ctimeMs: stats.ctimeMs }
}

export function isUnchanged(before: Identity, after: Identity): boolean {
  return hasSameContent(before, after) && before.ctimeMs === after.ctimeMs
}

/** Compares like isUnchanged, but without ctime, which linking and renaming change. */
export function hasSameContent(before: Identity, after: Identity): boolean {
  return before.size === after.size && before.mtimeMs === after.mtimeMs
}
