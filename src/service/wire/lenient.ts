import { z } from 'zod'
import { parseDecimal } from '../../kit/floats.ts'
import { excessOf, isObject } from '../../kit/json.ts'
import { EXAMPLE_CHARACTERS, shorten } from '../../kit/text.ts'

/**
 * One difference between an answer and the service's document: a field that the document does not have (`unknown`), a value
 * of another type than it says or that cannot be read (`type`), or a number that its column cannot hold, or a text that is longer than what is kept of it (`range`). `example`
 * is any JSON value.
 */
export type Drift = { field: string; kind: 'unknown' | 'type' | 'range'; example: unknown }

export type Parsed<T> = { ok: true; value: T; drift: Drift[] } | { ok: false; reason: string }

/**
 * An item of a list that cannot be used; `index` counts from 0 in the list as sent, `named` is the beginning of its path, or
 * of its name when it has no path.
 */
export type BadItem = { index: number; reason: string; named?: string }

/**
 * Parses a decoded JSON object: a wrong-typed optional field becomes null, a text that is too long is cut, both are reported as drift, unknown fields are
 * kept and reported. Only a required field that is missing or wrong makes it fail, and an object that is nested too deep or has
 * too many fields; `reason` names it, never its value.
 */
export function parseLenient<T>(schema: z.ZodType<T>, wire: unknown, prefix = ''): Parsed<T> {
  if (!isObject(wire)) return { ok: false, reason: 'is not an object' }
  const excess = excessOf(wire)
  if (excess !== undefined) return { ok: false, reason: excess }
  const first = schema.safeParse(wire)
  if (first.success) return { ok: true, value: first.data, drift: unknownFieldsOf(schema, wire, prefix) }
  const corrected = structuredClone(wire)
  const drift = first.error.issues.map((issue) => {
    const limit = issue.code === 'too_big' && issue.origin === 'string' ? Number(issue.maximum) : undefined
    const example = correct(corrected, issue.path, limit)
    const kind = limit === undefined ? ('type' as const) : ('range' as const)
    return { field: fieldName(prefix, issue.path), kind, example: shortenExample(example) }
  })
  const second = schema.safeParse(corrected)
  if (second.success) {
    return { ok: true, value: second.data, drift: [...drift, ...unknownFieldsOf(schema, wire, prefix)] }
  }
  const field = fieldName('', second.error.issues[0]?.path ?? [])
  const own = first.error.issues.find(
    ({ code, path }) => code === 'custom' && fieldName('', path) === field,
  )?.message
  return { ok: false, reason: `${field || 'the object'} ${own ?? 'is missing or of the wrong type'}` }
}

/** Parses each item of a list by itself, so that one bad item never stops the others. Undefined when it is no list. */
export function parseList<T>(schema: z.ZodType<T>, wire: unknown, prefix: string) {
  const items = parseItems(wire)
  if (!items) return undefined
  const entries: T[] = []
  const bad: BadItem[] = []
  const drift = new Map<string, Drift>()
  for (const [index, item] of items.entries()) {
    const parsed = parseLenient(schema, item, prefix)
    if (parsed.ok) {
      entries.push(parsed.value)
      addDrift(drift, parsed.drift)
    } else {
      bad.push({ index, reason: parsed.reason, ...nameOf(item) })
    }
  }
  return { entries, bad, drift: [...drift.values()] }
}

function nameOf(item: unknown): { named?: string } {
  const { path, name } = isObject(item) ? item : {}
  const named = [path, name].find((each) => typeof each === 'string' && each !== '')
  return named === undefined ? {} : { named: String(shortenExample(named)) }
}

/** Lists the fields of an answer's outermost object that are not among `known`. */
export function unknownOutsideOf(wire: Record<string, unknown>, known: readonly string[]): Drift[] {
  return Object.entries(wire)
    .filter(([key]) => !known.includes(key))
    .map(([field, value]) => ({ field, kind: 'unknown', example: shortenExample(value) }))
}

/** Replaces a value by null, or a text by its first `limit` characters; returns what it was. */
function correct(root: unknown, path: readonly PropertyKey[], limit: number | undefined): unknown {
  let holder: unknown = root
  for (const key of path.slice(0, -1)) holder = Reflect.get(Object(holder), key)
  const last = path.at(-1)
  if (last === undefined || typeof holder !== 'object' || holder === null) return undefined
  const before: unknown = Reflect.get(holder, last)
  Reflect.set(holder, last, limit === undefined ? null : cutText(String(before), limit))
  return before
}

/** Cuts a text. What is cut by itself would keep the whole text in memory. */
function cutText(text: string, limit: number): string {
  return Buffer.from(shorten(text, limit)).toString()
}

function fieldName(prefix: string, path: readonly PropertyKey[]): string {
  const steps = path.map((key) => (typeof key === 'number' ? '[]' : `.${String(key)}`)).join('')
  return `${prefix}${steps}`.replace(/^\./, '')
}

/** Postgres holds no `integer` beyond this. */
const MOST_INTEGER = 2_147_483_647
/**
 * A longer text, in bytes of UTF-8, is no identity: a row of a Postgres index holds 2,704 bytes with the other columns of
 * its key, and one path beyond that would fail the transaction of the whole list. Real ones have 10 to 40.
 */
const MOST_IDENTITY_BYTES = 1_000
const TOO_LONG = `is longer than ${MOST_IDENTITY_BYTES} bytes`
/** Minutes and seconds, hours before them where there are any. */
const CLOCK = /^(?:\d+:)?\d{1,2}:\d{2}(?:\.\d+)?$/

// Field schemas that are lenient the way the service is loose: a missing or null field stays missing or null, a numeric
// string is a number, a number where text is promised is text. Anything else is an issue that parseLenient turns into null.

/** A number, a numeric string, or nothing; an empty string is nothing. */
export const numberField = z.preprocess(readNumber, z.number().nullish()).optional()

const textUpTo = (characters: number) =>
  z.preprocess(numberToText, z.string().max(characters).nullish()).optional()

/** A text; a number is written out as one. More characters than any description has are cut off, which is reported as drift. */
export const textField = textUpTo(20_000)

/** A text of one line, such as a name; more than 1,000 characters are cut off, which is reported as drift. */
export const nameField = textUpTo(1_000)

/** A whole number that a Postgres `integer` holds, or its text, or nothing. */
export const integerField = z
  .preprocess(readNumber, z.number().int().min(-MOST_INTEGER).max(MOST_INTEGER).nullish())
  .optional()

/** A duration as sent: a number, a numeric string read as one, or a clock such as `00:59:20` or `01:30` left as text. */
export const durationField = z
  .preprocess(readNumber, z.union([z.number(), z.string().trim().regex(CLOCK)]).nullish())
  .optional()

/**
 * The identity of an object, by which it is addressed: a text that is not empty and that an index can hold (1,000 bytes), or a
 * whole number that JSON did not round.
 */
export const identityField = z.preprocess(
  (value) => (Number.isSafeInteger(value) ? String(value) : value),
  z.string().min(1).refine(fitsIdentity, TOO_LONG),
)

/** The identity of something that may be missing or empty; one that an index cannot hold counts as a wrong type. */
export const optionalIdentityField = z
  .preprocess(numberToText, z.string().refine(fitsIdentity, TOO_LONG).nullish())
  .optional()

/** Whether a text is short enough to be an identity. */
export function fitsIdentity(text: string): boolean {
  return Buffer.byteLength(text) <= MOST_IDENTITY_BYTES
}

/** An object whose unknown fields are kept. PHP writes an empty object as `[]`, which counts as nothing. */
export function objectField<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .preprocess((value) => (isEmptyArray(value) ? null : value), z.looseObject(shape).nullish())
    .optional()
}

/** The items of an array; PHP writes an array with gaps as an object with number keys. Undefined for anything else. */
export function parseItems(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (typeof value !== 'object' || value === null) return undefined
  return Object.keys(value).every((key) => /^\d+$/.test(key)) ? Object.values(value) : undefined
}

/** The number that a text is, null for an empty one; anything else as it is. */
function readNumber(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const trimmed = value.trim()
  if (trimmed === '') return null
  const number = parseDecimal(trimmed)
  return Number.isNaN(number) ? value : number
}

function numberToText(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Differences of one list that are kept, each with its first example: a few hundred fields are all that a document has. */
const MOST_KEPT = 1_000

/** Shortens a value to an example: short scalars as they are, everything else as text of at most 100 characters. */
export function shortenExample(value: unknown): unknown {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : textOf(value)
  return shorten(text, EXAMPLE_CHARACTERS)
}

function textOf(value: unknown): string {
  const excess = excessOf(value)
  return excess === undefined ? (JSON.stringify(value) ?? String(value)) : `(a value that ${excess})`
}

/** Keeps the first example of each field and kind, so that a list of a thousand entries reports a field once. */
function dedupeDrift(drift: readonly Drift[]): Drift[] {
  return [...addDrift(new Map(), drift).values()]
}

/** Adds the first example of each field and kind to those that are `known`, and returns these; above 1,000 none is added. */
function addDrift(known: Map<string, Drift>, drift: readonly Drift[]): Map<string, Drift> {
  for (const item of drift) {
    if (known.size >= MOST_KEPT) break
    const key = `${item.kind} ${item.field}`
    if (!known.has(key)) known.set(key, item)
  }
  return known
}

/** Lists the fields of `value` that `schema` does not know, by dotted name under `prefix`, through nested objects. */
function unknownFieldsOf(schema: z.core.$ZodType, value: unknown, prefix: string): Drift[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return unknownFieldsOf(schema.unwrap(), value, prefix)
  }
  if (schema instanceof z.ZodPipe) return unknownFieldsOf(schema.out, value, prefix)
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return dedupeDrift(value.flatMap((item) => unknownFieldsOf(schema.element, item, `${prefix}[]`)))
  }
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return []
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape
  return Object.entries(value).flatMap(([key, inner]): Drift[] => {
    const field = prefix === '' ? key : `${prefix}.${key}`
    const known = Object.hasOwn(shape, key) ? shape[key] : undefined
    if (known) return unknownFieldsOf(known, inner, field)
    return [{ field, kind: 'unknown', example: shortenExample(inner) }]
  })
}
