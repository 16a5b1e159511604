import { z } from 'zod'
import { parseDecimal } from '../../kit/floats.ts'
import { excessOf, isObject } from '../../kit/json.ts'
import { EXAMPLE_CHARACTERS, shorten } from '../../kit/text.ts'

/**
 * One difference between an answer and the service's document: an unknown field (`unknown`), a value of a wrong type or one that cannot be
 * read (`type`), a number too large for its column or a text that was cut (`range`). `example` is any JSON value.
 */
export type Drift = { field: string; kind: 'unknown' | 'type' | 'range'; example: unknown }

export type Parsed<T> = { ok: true; value: T; drift: Drift[] } | { ok: false; reason: string }

/** An item of a list that cannot be used; `index` counts from 0 as sent, `named` is the beginning of its path, else of its name. */
export type BadItem = { index: number; reason: string; named?: string }

/**
 * Parses a decoded JSON object: an optional field of a wrong type becomes null and a long text is cut, both reported as drift; unknown
 * fields are kept and reported. Fails only when a required field is missing or wrong, or the object is too deep or has too many fields;
 * `reason` names the field, never its value.
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

/** Parses each item of a list separately, so that a bad item does not stop the others. Undefined when it is not a list. */
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

/** Parses an answer with one list, the member `name`; fails only without a list. */
export function parseListAnswer<T>(schema: z.ZodType<T>, wire: Record<string, unknown>, name: string) {
  const list = parseList(schema, wire[name], `${name}[]`)
  if (!list) return { ok: false as const, reason: `${name} is missing or not a list` }
  const others = Object.entries(wire).filter(([key]) => key !== 'success' && key !== name)
  const unknown = others.map(([field, value]) => ({
    field,
    kind: 'unknown' as const,
    example: shortenExample(value),
  }))
  const drift = [...unknown, ...list.drift]
  return { ok: true as const, value: { ...list, drift }, drift }
}

function nameOf(item: unknown): { named?: string } {
  const { path, name } = isObject(item) ? item : {}
  const named = [path, name].find((each) => typeof each === 'string' && each !== '')
  return named === undefined ? {} : { named: String(shortenExample(named)) }
}

/** Replaces a value by null, or a text by its first `limit` characters; returns what it was. */
function correct(root: unknown, path: readonly PropertyKey[], limit: number | undefined): unknown {
  let holder: unknown = root
  for (const key of path.slice(0, -1)) holder = Reflect.get(Object(holder), key)
  const last = path.at(-1)
  if (last === undefined || typeof holder !== 'object' || holder === null) return undefined
  const before: unknown = Reflect.get(holder, last)
  // A plain slice would keep the whole text in memory.
  const cut = limit === undefined ? null : Buffer.from(shorten(String(before), limit)).toString()
  Reflect.set(holder, last, cut)
  return before
}

function fieldName(prefix: string, path: readonly PropertyKey[]): string {
  const steps = path.map((key) => (typeof key === 'number' ? '[]' : `.${String(key)}`)).join('')
  return `${prefix}${steps}`.replace(/^\./, '')
}

/** The largest `integer` of Postgres. */
const MAX_INTEGER = 2_147_483_647
/**
 * The longest identity, in bytes of UTF-8: a Postgres index row holds 2,704 bytes with the other columns of its key, and one longer path
 * would fail the transaction of the whole list. Real ones have 10 to 40.
 */
const MAX_IDENTITY_BYTES = 1_000
const TOO_LONG = `is longer than ${MAX_IDENTITY_BYTES} bytes`
/** A clock text: minutes and seconds, with or without hours. */
const CLOCK = /^(?:\d+:)?\d{1,2}:\d{2}(?:\.\d+)?$/

// Lenient field schemas: a missing or null field stays missing or null, a numeric string is a number, a number where text is promised is
// text. Anything else is an issue that parseLenient turns into null.

/** A number, a numeric string, or nothing; an empty string is nothing. */
export const numberField = z.preprocess(readNumber, z.number().nullish()).optional()

const textUpTo = (characters: number) =>
  z.preprocess(numberToText, z.string().max(characters).nullish()).optional()

/** A text; a number becomes its text. A text beyond any real description is cut, which is reported as drift. */
export const textField = textUpTo(20_000)

/** A text of one line, such as a name, cut to 1,000 characters, which is reported as drift. */
export const nameField = textUpTo(1_000)

/** A whole number, or its text, within a Postgres `integer`, or nothing. */
export const integerField = z
  .preprocess(readNumber, z.number().int().min(-MAX_INTEGER).max(MAX_INTEGER).nullish())
  .optional()

/** A duration as sent: a number, a numeric string as a number, or a clock such as `00:59:20` or `01:30` as text. */
export const durationField = z
  .preprocess(readNumber, z.union([z.number(), z.string().trim().regex(CLOCK)]).nullish())
  .optional()

/** The identity of an object: a text of 1 to 1,000 bytes, or a whole number that JSON did not round. */
export const identityField = z.preprocess(
  (value) => (Number.isSafeInteger(value) ? String(value) : value),
  z.string().min(1).refine(fitsIdentity, TOO_LONG),
)

/** An optional identity; one that is too long for an index counts as a wrong type. */
export const optionalIdentityField = z
  .preprocess(numberToText, z.string().refine(fitsIdentity, TOO_LONG).nullish())
  .optional()

/** Whether a text is short enough to be an identity. */
export function fitsIdentity(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_IDENTITY_BYTES
}

/** An object whose unknown fields are kept. PHP writes an empty object as `[]`, which counts as nothing. */
export function objectField<Shape extends z.ZodRawShape>(shape: Shape) {
  const orNothing = (value: unknown) => (Array.isArray(value) && value.length === 0 ? null : value)
  return z.preprocess(orNothing, z.looseObject(shape).nullish()).optional()
}

/** The items of an array; PHP writes an array with gaps as an object with number keys. Undefined for anything else. */
export function parseItems(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (typeof value !== 'object' || value === null) return undefined
  return Object.keys(value).every((key) => /^\d+$/.test(key)) ? Object.values(value) : undefined
}

/** The number in a text, null for an empty one; anything else as it is. */
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

/** Differences that are kept for one list; a document has only a few hundred fields. */
const MAX_KEPT = 1_000

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

/** Adds the first example of each field and kind to `known`, up to 1,000, and returns `known`. */
function addDrift(known: Map<string, Drift>, drift: readonly Drift[]): Map<string, Drift> {
  for (const item of drift) {
    if (known.size >= MAX_KEPT) break
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
    const drift = value.flatMap((item) => unknownFieldsOf(schema.element, item, `${prefix}[]`))
    return [...addDrift(new Map(), drift).values()]
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
