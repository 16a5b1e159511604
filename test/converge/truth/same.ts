import { isDeepStrictEqual } from 'node:util'

/**
 * Whether a value in a table says what the service said: numbers and numeric texts are one, so are two
 * ways to write a wall clock, what Postgres cannot hold in
 * a text is taken out, a member that is missing is null.
 */
export function isSame(is: unknown, should: unknown): boolean {
  return isDeepStrictEqual(plain(is), plain(should))
}

/** Whether a JSON column holds what the service sent, member by member and type by type. */
export function isAsSent(is: unknown, sent: unknown): boolean {
  return isDeepStrictEqual(is, cleaned(sent))
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanedText(value)
  if (Array.isArray(value)) return value.map(cleaned)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [cleanedText(key), cleaned(member)]))
}

function cleanedText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd')
}

function plain(value: unknown): unknown {
  if (value === undefined) return null
  if (value instanceof Date) return value.getTime()
  if (typeof value === 'string') {
    if (/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(value)) return Number(value)
    if (/^\d{4}-\d\d-\d\d[ T][\d:.]+$/.test(value)) return value.replace('T', ' ').replace(/\.0+$/, '')
    return cleanedText(value)
  }
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined && member !== null)
      .map(([key, member]) => [key, plain(member)])
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  )
}
