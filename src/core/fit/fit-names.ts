/** Editors and copying tools put a tilde behind the name of a backup, which holds a ride like any other. */
const DROPPABLE = /\.(?:fit|fit\.gz|zip)~?$/i

/** Names longer than this many bytes in UTF-8 are cut; file systems take 255, and a number or `.txt` may be added. */
const MAX_NAME_BYTES = 200

/** Returns whether the drop folder accepts a name: `.fit`, `.fit.gz` or `.zip`, in any case, also as a backup, `.fit~`. */
export function isDroppable(name: string): boolean {
  return DROPPABLE.test(name)
}

/**
 * Makes a safe file name out of any name on the disk or in an archive: the last part of the path without control characters,
 * characters that file systems refuse and leading dots, cut to 200 bytes, with the ending `.fit`.
 */
export function cleanFitName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const plain = last
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
    .replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069<>:"|?*]+/g, '_')
    .replace(/^[\s.]+|[\s.]+$/g, '')
  const stem = plain.replace(/\.fit(?:\.gz)?~?$/i, '')
  // A character that is cut in two is left out.
  const bytes = Buffer.from(stem).subarray(0, MAX_NAME_BYTES)
  const cut = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
  return `${cut || 'activity'}.fit`
}
