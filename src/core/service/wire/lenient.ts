import { parseDecimal } from '../../../kit/floats.ts'
import { excessOf, isObject } from '../../../kit/json.ts'
import { EXAMPLE_CHARACTERS, shorten } from '../../../kit/text.ts'
import { any, camelCase, type Fields, type Kind, type Values } from '../../fields/field.ts'

/**
 * One difference between a response and the service's document: an unknown field (`unknown`), a value with a wrong type or an unreadable one
 * (`type`), a number too large for its column or a string that was cut (`range`). `example` is any JSON value.
 */
export type Drift = { field: string; kind: 'unknown' | 'type' | 'range'; example: unknown }

export type Parsed<T> = { ok: true; value: T; drift: Drift[] } | { ok: false; reason: string }

/** An unusable list item. `index` counts from 0 as sent; `named` is the start of its path or, without a path, of its name. */
export type BadItem = { index: number; reason: string; named?: string }

export type WithDrift = { drift: Drift[] }

/** Parses a decoded JSON value; `prefix` starts the names of its fields in drift. */
type Parser<T> = (wire: unknown, prefix?: string) => Parsed<T>

/** Fields that every response may have in addition to its own. */
export const ANSWER = { success: any('success') }

/**
 * Makes the parser of an object with these fields. A missing field stays missing and null stays null. A value with a wrong type becomes null,
 * and a long string is cut. Wrong types, cut strings and unknown fields are reported as drift. Fails only if a key is missing or wrong, or if
 * the object is too deep or has too many fields; `reason` names the field, never its value.
 */
export function makeParser<L extends Fields>(fields: L): Parser<Values<L>> {
  const tree = makeTree(fields)
  const keys = Object.values(fields).filter(({ kind }) => kind === 'key')
  return (wire, prefix = '') => {
    if (!isObject(wire)) return { ok: false, reason: 'is not an object' }
    const excess = excessOf(wire)
    if (excess !== undefined) return { ok: false, reason: excess }
    for (const { path } of keys) {
      const sent = wire[path]
      if (READERS.key(sent) !== undefined) continue
      const isLong = typeof sent === 'string' && !fitsIdentity(sent)
      return { ok: false, reason: `${path} ${isLong ? TOO_LONG : 'is missing or of the wrong type'}` }
    }
    const { values, drift } = readObject(tree, wire, prefix)
    return { ok: true, value: values as Values<L>, drift }
  }
}

/** Fields by their names in an object; a nested object has its own tree. */
type Tree = Map<string, Tree | Readonly<{ kind: Kind; column: string }>>
type Read = { values: Record<string, unknown>; drift: Drift[] }

function makeTree(fields: Fields): Tree {
  const tree: Tree = new Map()
  for (const [column, { kind, path }] of Object.entries(fields)) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let at = tree
    for (const name of names) {
      const below = at.get(name)
      const inner: Tree = below instanceof Map ? below : new Map()
      at.set(name, inner)
      at = inner
    }
    at.set(last, { kind, column: camelCase(column) })
  }
  return tree
}

/** Reads the members of an object and its nested objects. A member that the tree lacks is reported as drift. */
function readObject(tree: Tree, wire: object, prefix: string, read: Read = { values: {}, drift: [] }): Read {
  for (const [name, sent] of Object.entries(wire) as Array<[string, unknown]>) {
    const known = tree.get(name)
    const field = prefix === '' ? name : `${prefix}.${name}`
    const note = (kind: Drift['kind']) => read.drift.push({ field, kind, example: shortenExample(sent) })
    if (known === undefined) note('unknown')
    else if (known instanceof Map) {
      // PHP writes an empty object as `[]`, which counts as nothing.
      if (!isObject(sent) && sent !== null && !(Array.isArray(sent) && sent.length === 0)) note('type')
      if (typeof sent === 'object' && sent !== null) readObject(known, sent, field, read)
    } else if (known.kind !== 'any') read.values[known.column] = readValue(known.kind, sent, note)
  }
  return read
}

function readValue(kind: Kind, sent: unknown, note: (kind: Drift['kind']) => void): unknown {
  const value = sent === null ? null : READERS[kind](sent)
  if (value === undefined) note('type')
  const limit = MAX_CHARACTERS[kind] ?? Number.POSITIVE_INFINITY
  // A character beyond the first 65,536 takes two units of a string.
  const fits = (text: string) =>
    text.length <= limit || (text.length <= 2 * limit && [...text].length <= limit)
  if (typeof value !== 'string' || fits(value)) return value ?? null
  note('range')
  // A plain slice would keep the whole string in memory.
  return Buffer.from(shorten(value, limit)).toString()
}

/** A list; one bad item never stops the others. */
export type List<T> = { entries: T[]; bad: BadItem[] }

/** Parses each item of an object's list `name` separately; fails only if there is no list. */
export function parseList<T>(parse: Parser<T>, wire: Record<string, unknown>, name: string): Parsed<List<T>> {
  const items = parseItems(wire[name])
  if (!items) return { ok: false, reason: `${name} is missing or not a list` }
  const entries: T[] = []
  const bad: BadItem[] = []
  const drift = new Map<string, Drift>()
  for (const [index, item] of items.entries()) {
    const parsed = parse(item, `${name}[]`)
    if (parsed.ok) {
      entries.push(parsed.value)
      addDrift(drift, parsed.drift)
    } else {
      bad.push({ index, reason: parsed.reason, ...nameOf(item) })
    }
  }
  return { ok: true, value: { entries, bad }, drift: [...drift.values()] }
}

/** Parses a response that is the list `name`; fails only if there is no list. */
export function parseListAnswer<T>(parse: Parser<T>, wire: Record<string, unknown>, name: string) {
  const list = parseList(parse, wire, name)
  if (!list.ok) return list
  const beside = readObject(makeTree({ ...ANSWER, [name]: any(name) }), wire, '')
  return { ...list, drift: [...beside.drift, ...list.drift] }
}

function nameOf(item: unknown): { named?: string } {
  const { path, name } = isObject(item) ? item : {}
  const named = [path, name].find((each) => typeof each === 'string' && each !== '')
  return named === undefined ? {} : { named: String(shortenExample(named)) }
}

/** The largest `integer` of Postgres. */
const MAX_INTEGER = 2_147_483_647
/**
 * Maximum length of an identity, UTF-8 bytes: a Postgres index row holds 2,704 bytes with the other columns of its key, and one longer path
 * would fail the whole list's transaction. Real identities have 10 to 40 bytes.
 */
const MAX_IDENTITY_BYTES = 1_000
const TOO_LONG = `is longer than ${MAX_IDENTITY_BYTES} bytes`
/** A clock text: minutes and seconds, with or without hours. */
const CLOCK = /^(?:\d+:)?\d{1,2}:\d{2}(?:\.\d+)?$/

/** Maximum number of a string's characters that are kept: more than any description has, and one line for a name. */
const MAX_CHARACTERS: Readonly<Partial<Record<Kind, number>>> = { text: 20_000, name: 1_000 }

/**
 * Readers of values, as lenient as the service is loose: a numeric string becomes a number, an empty string becomes null, and a number in
 * place of a string becomes a string. They return undefined for anything else.
 */
const READERS: Readonly<Record<Kind, (sent: unknown) => unknown>> = {
  // JSON has rounded a whole number beyond the safe integers.
  key: (sent) =>
    typeof sent === 'number' && !Number.isSafeInteger(sent) ? undefined : readIdentity(sent) || undefined,
  identity: readIdentity,
  name: readText,
  text: readText,
  flag: (sent) => (typeof sent === 'boolean' ? String(sent) : undefined),
  number: readNumber,
  real: readNumber,
  integer: (sent) => {
    const number = readNumber(sent)
    const fits = Number.isInteger(number) && Math.abs(number ?? 0) <= MAX_INTEGER
    return number === null || fits ? number : undefined
  },
  duration: (sent) => {
    const number = readNumber(sent)
    if (number !== undefined || typeof sent !== 'string' || !CLOCK.test(sent.trim())) return number
    return sent.split(':').reduce((total, part) => total * 60 + Number(part), 0)
  },
  any: (sent) => sent,
}

/** Reads a number or a numeric text; returns null for an empty text, undefined for anything else. */
export function readNumber(sent: unknown): number | null | undefined {
  const text = typeof sent === 'string' ? sent.trim() : undefined
  if (text === '') return null
  const number = text === undefined ? sent : parseDecimal(text)
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** Returns a string as it is and a number as a string. Returns undefined for anything else. */
export function readText(sent: unknown): string | undefined {
  return typeof sent === 'string' || typeof sent === 'number' ? String(sent) : undefined
}

function readIdentity(sent: unknown): string | undefined {
  const text = readText(sent)
  return text !== undefined && fitsIdentity(text) ? text : undefined
}

/** Reports whether a string is short enough for an identity. */
export function fitsIdentity(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_IDENTITY_BYTES
}

/** Returns the items of an array; PHP writes an array with gaps as an object with number keys. Undefined for anything else. */
export function parseItems(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (typeof value !== 'object' || value === null) return undefined
  return Object.keys(value).every((key) => /^\d+$/.test(key)) ? Object.values(value) : undefined
}

/** Shortens a value to an example: keeps short scalars, turns anything else into text of at most 100 characters. */
export function shortenExample(value: unknown): unknown {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : textOf(value)
  return shorten(text, EXAMPLE_CHARACTERS)
}

function textOf(value: unknown): string {
  const excess = excessOf(value)
  return excess === undefined ? (JSON.stringify(value) ?? String(value)) : `(a value that ${excess})`
}

/** Maximum differences kept for one list; a document has only a few hundred fields. */
const MAX_KEPT = 1_000

/** Adds the first example of each field and kind to `known`, up to 1,000. */
function addDrift(known: Map<string, Drift>, drift: readonly Drift[]): void {
  for (const item of drift) {
    if (known.size >= MAX_KEPT) break
    const key = `${item.kind} ${item.field}`
    if (!known.has(key)) known.set(key, item)
  }
}
