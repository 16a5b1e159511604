import type { Json } from './schema/schemas.ts'

/** Removes U+0000 and replaces a lone surrogate with U+FFFD, because Postgres refuses both in text and jsonb. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd')
}

/** Cleans a string. Returns null for null. */
export function cleanNullable(text: string | null): string | null {
  return text === null ? null : cleanText(text)
}

export function cleanRow<Row extends object>(row: Row): Row {
  const entries = Object.entries(row).map(([key, value]: [string, unknown]) => [
    key,
    typeof value === 'string' ? cleanText(value) : value,
  ])
  return Object.fromEntries(entries)
}

/** Converts a value to a value that jsonb accepts: cleans strings and keys, turns NaN and infinities into null, leaves out undefined members. */
export function cleanJson(value: unknown): Json {
  if (typeof value === 'string') return cleanText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value === null || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.map((member) => cleanJson(member))
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'object') return cleanObject(value)
  return null
}

function cleanObject(value: object): Json {
  const cleaned: Record<string, Json> = {}
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    // An assignment to __proto__ would set the prototype and lose the member.
    Object.defineProperty(cleaned, cleanText(key), {
      value: cleanJson(member),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return cleaned
}

/** Letters that NFKD does not split into letter and accent, and the plain letters that people type instead. */
const LETTERS = ['øłđħŧı', 'oldhti']

/** Returns SQL that removes case and accents from the SQL expression `text` for a search: `rio` finds `Río`. */
export function makeFoldedSql(text: string): string {
  const bare = `regexp_replace(normalize(${text}, NFKD), '[\\u0300-\\u036f]', '', 'g')`
  return `translate(lower(${bare}), ${LETTERS.map((letters) => `'${letters}'`).join(', ')})`
}
