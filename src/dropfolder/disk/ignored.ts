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
