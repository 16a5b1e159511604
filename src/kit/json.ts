import { isAscii } from 'node:buffer'

/** Decodes UTF-8 and removes a byte order mark, because JSON.parse refuses it. */
export function decodeUtf8(bytes: Buffer): string {
  // Most answers are ASCII only, and to copy bytes is several times faster than to decode them.
  if (isAscii(bytes)) return bytes.toString('latin1')
  return bytes.toString('utf8').replace(/^\uFEFF/, '')
}

/** Parses JSON in UTF-8. Throws SyntaxError. */
export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(decodeUtf8(bytes)) as unknown
}

/** Tells whether a value is a JSON object, neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
