/** Bytes of a whole file name in UTF-8, its ending included: far below every file system's limit, so copies fit too. */
const MAX_BYTES = 100
/** What may be added to a stem: ` (99)` and `.erg`. */
const RESERVED_BYTES = 9

/** Names that Windows keeps for devices, whatever ending follows. */
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])$/i
/** Separators, and what Windows refuses. */
const REFUSED = /[/\\:*?"<>|]/g
/** Controls, half pairs, private signs, and formatting (it can turn the reading order round) but for the joiners of scripts. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Co}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu
/** What a name neither begins nor ends with: it would be hidden, or lost on Windows. */
const EDGES = /^[\s.\u200c\u200d]+|[\s.\u200c\u200d]+$/g

/**
 * Makes the part of a file name before its ending from a name that the service gave: readable, on every file system, and
 * one plain name whatever stood in it. `fallback` is used when nothing is left, and then `workout`.
 */
export function makeFileStem(name: string | null, fallback: string): string {
  for (const text of [name ?? '', fallback]) {
    const stem = cleanStem(text)
    if (stem !== '') return stem
  }
  return 'workout'
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

/** Cuts between the signs that a person sees, not within one. */
function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(segment) > maxBytes) break
    kept += segment
  }
  return kept
}
