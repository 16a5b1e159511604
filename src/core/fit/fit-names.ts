import { makeFileStem } from '../../kit/folders/file-name.ts'

/** Editors and copy tools append a tilde to the name of a backup. A backup may hold a ride like any other file. */
const DROPPABLE = /\.(?:fit|fit\.gz|zip)~?$/i

/** Maximum length of a name without its ending, bytes of UTF-8. File systems allow 255, and a number or `.txt` may be added. */
const MAX_STEM_BYTES = 200

/** Reports whether the drop folder accepts a file name: `.fit`, `.fit.gz` or `.zip` in any case, including editor backups such as `.fit~`. */
export function isDroppable(name: string): boolean {
  return DROPPABLE.test(name)
}

/** Makes a safe file name ending in `.fit` from the last part of a path on disk or in an archive. */
export function cleanFitName(path: string): string {
  const last = path.split(/[/\\]/).at(-1) ?? ''
  return `${makeFileStem(last.replace(/\.fit(?:\.gz)?~?$/i, ''), 'activity', MAX_STEM_BYTES)}.fit`
}
