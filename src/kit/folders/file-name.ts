import { isUtf8 } from 'node:buffer'

/** The longest stem, bytes in UTF-8: below the limit of every file system, with room for a date, a number and an ending. */
const MAX_BYTES = 90
/** The longest name that common file systems allow, bytes. */
export const MAX_NAME_BYTES = 255

/** Names that Windows reserves for devices, with any ending. */
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])$/i
/** Separators, and characters that Windows refuses. */
const REFUSED = /[/\\:*?"<>|]/g
/** Controls, unpaired surrogates, private characters, and formatting (it can reverse the reading order), except the joiners. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Co}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu
/** Removed from both ends of a name, where they would hide the file or Windows would drop them. */
const EDGES = /^[\s.\u200c\u200d]+|[\s.\u200c\u200d]+$/g

/**
 * Makes a file name without its ending from a text of others, such as the name of a ride: visible, valid on every file system, and cut to
 * `maxBytes`. Every name of that kind is made here. An empty one becomes `fallback` or `workout`.
 */
export function makeFileStem(name: string | null, fallback: string, maxBytes = MAX_BYTES): string {
  for (const text of [name ?? '', fallback]) {
    const stem = cleanStem(text, maxBytes)
    if (stem !== '') return stem
  }
  return 'workout'
}

/** Tells whether a text is the name of one visible file; what makeFileStem makes is. */
export function isPlainName(name: string): boolean {
  return /^[^./\\\0][^/\\\0]*$/.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES
}

/** Decodes a name for people: old devices write Latin-1, which is not UTF-8. */
export function readableName(name: Buffer): string {
  return name.toString(isUtf8(name) ? 'utf8' : 'latin1')
}

/**
 * Returns the same key for all names that some file system takes for one file: exFAT, NTFS, APFS and ext4 with casefold ignore case (with
 * `ß` as `ss`), composition and invisible characters, each some of it. Names are compared so on every disk, so that a folder can be copied
 * to any other.
 */
export function foldName(name: string): string {
  const visible = name.normalize('NFD').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return visible.toLowerCase().toUpperCase().normalize('NFC')
}

function cleanStem(text: string, maxBytes: number): string {
  const readable = text
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE, '')
    .replace(REFUSED, '-')
    .replace(EDGES, '')
  const stem = cut(readable, maxBytes).replace(EDGES, '')
  const device = DEVICE.test((stem.split('.')[0] ?? '').trimEnd())
  return device ? `_${stem}` : stem
}

/** Cuts between visible characters (graphemes), never within one. */
function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(segment) > maxBytes) break
    kept += segment
  }
  return kept
}
