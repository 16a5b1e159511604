import { isUtf8 } from 'node:buffer'

/** The longest file name with its ending, bytes in UTF-8: below the limit of every file system, with room for a copy's name. */
const MAX_BYTES = 100
/** Bytes that are added to a stem: ` (99)` and `.erg`. */
const RESERVED_BYTES = 9

/** Names that Windows reserves for devices, with any ending. */
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])$/i
/** Separators, and characters that Windows refuses. */
const REFUSED = /[/\\:*?"<>|]/g
/** Controls, unpaired surrogates, private characters, and formatting (it can reverse the reading order), except the joiners. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Co}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu
/** Removed from both ends of a name, where they would hide the file or Windows would drop them. */
const EDGES = /^[\s.\u200c\u200d]+|[\s.\u200c\u200d]+$/g

/** Makes a file name without its ending from a name of the service, valid on every file system. An empty one becomes `fallback` or `workout`. */
export function makeFileStem(name: string | null, fallback: string): string {
  for (const text of [name ?? '', fallback]) {
    const stem = cleanStem(text)
    if (stem !== '') return stem
  }
  return 'workout'
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

function cleanStem(text: string): string {
  const readable = text
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE, '')
    .replace(REFUSED, '-')
    .replace(EDGES, '')
  const stem = cut(readable, MAX_BYTES - RESERVED_BYTES - 1).replace(EDGES, '')
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
