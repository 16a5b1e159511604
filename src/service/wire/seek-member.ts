const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c] as const
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d] as const

/**
 * Finds where the value of a member of the body's outermost object begins; undefined without that member or when it is not an object.
 * `name` must need no escapes.
 */
export function seekMember(body: Buffer, name: string): number | undefined {
  const quoted = Buffer.from(JSON.stringify(name))
  let at = skipSpace(body, 0)
  if (body[at] !== OBJECT) return undefined
  at = skipSpace(body, at + 1)
  while (body[at] === QUOTE) {
    const end = skipText(body, at)
    if (end === NOT_JSON) return undefined
    const found = quoted.equals(body.subarray(at, end))
    const value = skipSpace(body, skipSpace(body, end) + 1)
    if (found) return value
    const next = skipValue(body, value)
    if (next === NOT_JSON) return undefined
    at = skipSpace(body, next)
    if (body[at] !== COMMA) return undefined
    at = skipSpace(body, at + 1)
  }
  return undefined
}

/** Returned instead of an offset when the bytes are not plain JSON. */
export const NOT_JSON = -1

const SPACES = [0x20, 0x09, 0x0a, 0x0d]

/** Returns the offset of the first byte from `at` on that is not JSON whitespace. */
export function skipSpace(body: Buffer, at: number): number {
  let end = at
  while (SPACES.includes(body[end] as number)) end++
  return end
}

/** Returns the end of the JSON value that begins at `start`. Its content is not checked. */
export function skipValue(body: Buffer, start: number): number {
  const first = body[start]
  if (first === QUOTE) return skipText(body, start)
  if (first !== LIST && first !== OBJECT) return skipWord(body, start)
  let depth = 0
  for (let at = start; at < body.length; at++) {
    const byte = body[at]
    if (byte === QUOTE) {
      const end = skipText(body, at)
      if (end === NOT_JSON) return NOT_JSON
      at = end - 1
    } else if (byte === LIST || byte === OBJECT) depth++
    else if ((byte === LIST_END || byte === OBJECT_END) && --depth === 0) return at + 1
  }
  return NOT_JSON
}

function skipText(body: Buffer, start: number): number {
  for (let at = start + 1; at < body.length; at++) {
    if (body[at] === BACKSLASH) at++
    else if (body[at] === QUOTE) return at + 1
  }
  return NOT_JSON
}

function skipWord(body: Buffer, start: number): number {
  let at = start
  while (at < body.length) {
    const byte = body[at] as number
    if (byte === COMMA || byte === LIST_END || byte === OBJECT_END || byte <= 0x20) break
    at++
  }
  return at === start ? NOT_JSON : at
}
