import { isUtf8 } from 'node:buffer'

/** Maximum length of a stem, UTF-8 bytes: below every file system's limit, with room for a date, a number and an extension. */
const MAX_BYTES = 90
/** Maximum length of a name on common file systems, bytes. */
export const MAX_NAME_BYTES = 255

/** Names that Windows reserves for devices, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])$/i
/** Separators, and other characters that Windows refuses. */
const REFUSED = /[/\\:*?"<>|]/g
/** Control characters, unpaired surrogates, private-use characters, and format characters except joiners. Format characters can reverse the reading order. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Co}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu
/** Characters removed from both ends of a name, because they would hide the file or Windows would drop them. */
const EDGES = /^[\s.\u200c\u200d]+|[\s.\u200c\u200d]+$/g

/**
 * Makes a file name stem from foreign text such as a ride's name: visible, valid on every file system, at most `maxBytes` long. All such
 * names are made here. If nothing is left, uses `fallback`, then `workout`.
 */
export function makeFileStem(name: string | null, fallback: string, maxBytes = MAX_BYTES): string {
  for (const text of [name ?? '', fallback]) {
    const stem = cleanStem(text, maxBytes)
    if (stem !== '') return stem
  }
  return 'workout'
}

/** Reports whether a string is a plain file name: not hidden, without a path, and not too long. Every result of makeFileStem is a plain file name. */
export function isPlainName(name: string): boolean {
  return /^[^./\\\0][^/\\\0]*$/.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES
}

/** Decodes a file name for people: names that are not UTF-8 come from old devices and are read as Latin-1. */
export function readableName(name: Buffer): string {
  return name.toString(isUtf8(name) ? 'utf8' : 'latin1')
}

/**
 * Returns the same key for all names that some file system treats as one file. exFAT, NTFS, APFS and ext4 with casefold each ignore some of
 * case (with `ß` as `ss`), composition and invisible characters. Names are compared by this key on every disk, so that a folder can be copied
 * to any other disk.
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

/** Shortens a string between visible characters (graphemes), never within a character. */
function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(segment) > maxBytes) break
    kept += segment
  }
  return kept
}
