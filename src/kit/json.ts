import { isAscii } from 'node:buffer'

/** Maximum nesting depth: an API needs a few levels, and JSON.stringify and jsonb of Postgres fail at some thousands. */
const MAX_LEVELS = 100
/** Maximum number of fields: the largest objects of an API have some hundreds. */
const MAX_FIELDS = 50_000

/** Maximum number of values in a JSON document: a list of 50,000 activities has half a million. An object of three bytes takes 60 in memory. */
const MAX_VALUES = 2_000_000
/** Maximum size of a JSON document, bytes: a list of 50,000 activities of 300 bytes is 15 MB. Plain samples are larger, but the scanner reads them. */
export const MAX_TEXT_BYTES = 16_000_000
const [QUOTE, COMMA, BACKSLASH, LIST, OBJECT] = [0x22, 0x2c, 0x5c, 0x5b, 0x7b] as const

/** Returns why a JSON document in UTF-8 must not be parsed, such as `has more than 2000000 values`. Returns undefined if it may be parsed. */
export function excessOfText(json: Buffer): string | undefined {
  if (json.length <= MAX_VALUES) return undefined
  if (json.length > MAX_TEXT_BYTES) return 'has more than 16 MB beside plain samples'
  let values = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === COMMA || byte === LIST || byte === OBJECT) values++
    if (byte === QUOTE)
      for (at++; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++
  }
  return values > MAX_VALUES ? `has more than ${MAX_VALUES} values` : undefined
}

/** Decodes UTF-8 and removes a byte order mark, which JSON.parse rejects. */
export function decodeUtf8(bytes: Buffer): string {
  // Most responses are ASCII, and copying bytes is several times faster than decoding them.
  if (isAscii(bytes)) return bytes.toString('latin1')
  return bytes.toString('utf8').replace(/^\uFEFF/, '')
}

/** Parses a JSON document; undefined if it is not JSON. */
export function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses JSON in UTF-8. Throws SyntaxError. */
export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(decodeUtf8(bytes)) as unknown
}

/** Reports whether a value is a JSON object, neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns why a decoded JSON value is too large to work with (`is nested deeper than 100 levels`, or `has more than 50000 fields` in all
 * its objects); undefined if it is not. Does not recurse, so that no depth exhausts the stack.
 */
export function excessOf(value: unknown): string | undefined {
  let fields = 0
  let level = [value].filter(isParent)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_LEVELS) return `is nested deeper than ${MAX_LEVELS} levels`
    const below: object[] = []
    for (const parent of level) {
      const members: unknown[] = Array.isArray(parent) ? parent : Object.values(parent)
      if (!Array.isArray(parent)) fields += members.length
      if (fields > MAX_FIELDS) return `has more than ${MAX_FIELDS} fields`
      for (const member of members) if (isParent(member)) below.push(member)
    }
    level = below
  }
  return undefined
}

function isParent(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
