import type { Stats } from 'node:fs'

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
