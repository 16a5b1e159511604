import type { z } from 'zod'
import { addDrift, type Drift, listUnknownFields, shortenExample } from './drift.ts'
import { isObject, parseItems } from './fields.ts'
import { findExcess } from './size.ts'

export type Parsed<T> = { ok: true; value: T; drift: Drift[] } | { ok: false; reason: string }

/**
 * An item of a list that cannot be used; `index` counts from 0 in the list as sent, `named` is the beginning of its path, or
 * of its name where it has none.
 */
export type BadItem = { index: number; reason: string; named?: string }

/**
 * Parses a decoded JSON object: a wrong-typed optional field becomes null and is reported as drift, unknown fields are
 * kept and reported. Only a required field that is missing or wrong makes it fail, and an object that is nested too deep or has
 * too many fields; `reason` names it, never its value.
 */
export function parseLenient<T>(schema: z.ZodType<T>, wire: unknown, prefix = ''): Parsed<T> {
  if (!isObject(wire)) return { ok: false, reason: 'is not an object' }
  const excess = findExcess(wire)
  if (excess !== undefined) return { ok: false, reason: excess }
  const first = schema.safeParse(wire)
  if (first.success) return { ok: true, value: first.data, drift: listUnknownFields(schema, wire, prefix) }
  const mended = structuredClone(wire)
  const drift = first.error.issues.map((issue) => {
    const example = replaceWithNull(mended, issue.path)
    return { field: fieldName(prefix, issue.path), kind: 'type' as const, example: shortenExample(example) }
  })
  const second = schema.safeParse(mended)
  if (second.success) {
    return { ok: true, value: second.data, drift: [...drift, ...listUnknownFields(schema, wire, prefix)] }
  }
  const field = fieldName('', second.error.issues[0]?.path ?? [])
  const own = first.error.issues.find(
    ({ code, path }) => code === 'custom' && fieldName('', path) === field,
  )?.message
  return { ok: false, reason: `${field || 'the object'} ${own ?? 'is missing or of the wrong type'}` }
}

/** Parses each item of a list by itself, so that one bad item never stops the others. Undefined when it is no list. */
export function parseList<T>(
  schema: z.ZodType<T>,
  wire: unknown,
  prefix: string,
): { entries: T[]; bad: BadItem[]; drift: Drift[] } | undefined {
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
export function listUnknownOutside(wire: Record<string, unknown>, known: readonly string[]): Drift[] {
  return Object.entries(wire)
    .filter(([key]) => !known.includes(key))
    .map(([field, value]) => ({ field, kind: 'unknown', example: shortenExample(value) }))
}

function replaceWithNull(root: unknown, path: readonly PropertyKey[]): unknown {
  let holder: unknown = root
  for (const key of path.slice(0, -1)) holder = Reflect.get(Object(holder), key)
  const last = path.at(-1)
  if (last === undefined || typeof holder !== 'object' || holder === null) return undefined
  const before: unknown = Reflect.get(holder, last)
  Reflect.set(holder, last, null)
  return before
}

function fieldName(prefix: string, path: readonly PropertyKey[]): string {
  const steps = path.map((key) => (typeof key === 'number' ? '[]' : `.${String(key)}`)).join('')
  return `${prefix}${steps}`.replace(/^\./, '')
}
