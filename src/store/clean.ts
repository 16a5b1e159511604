import type { Json } from './schema/schemas.ts'

/**
 * Makes text that Postgres takes: U+0000 is left out, a lone surrogate becomes U+FFFD. Postgres refuses both in text
 * and in jsonb, and one such character would fail a whole activity.
 */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd')
}

/** Cleans a text or passes null on. */
export function cleanNullable(text: string | null): string | null {
  return text === null ? null : cleanText(text)
}

/**
 * Makes a JSON value that jsonb takes: every text and every key cleaned, numbers that JSON has not (NaN, infinities)
 * null, undefined members left out.
 */
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
    // Assigning to __proto__ would set the prototype and lose the member.
    Object.defineProperty(cleaned, cleanText(key), {
      value: cleanJson(member),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return cleaned
}
