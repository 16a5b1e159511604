import { makeFileStem } from '../../kit/folders/file-name.ts'

/** Editors and copying tools put a tilde behind the name of a backup, which holds a ride like any other. */
const DROPPABLE = /\.(?:fit|fit\.gz|zip)~?$/i

/** Longer names are cut; file systems take 255 bytes, and a number or `.txt` may be added. */
const MAX_STEM_BYTES = 200

/** Returns whether the drop folder accepts a name: `.fit`, `.fit.gz` or `.zip`, in any case, also as a backup, `.fit~`. */
export function isDroppable(name: string): boolean {
  return DROPPABLE.test(name)
}

/** Makes a file name with the ending `.fit` of the last part of any path on the disk or in an archive. */
export function cleanFitName(path: string): string {
  const last = path.split(/[/\\]/).at(-1) ?? ''
  return `${makeFileStem(last.replace(/\.fit(?:\.gz)?~?$/i, ''), 'activity', MAX_STEM_BYTES)}.fit`
}
