import { z } from 'zod'
import { findExcess } from './size.ts'

/**
 * A field that the service document does not have (`unknown`), a value of another type than it says or that cannot be read
 * (`type`), or a number beyond what its column can hold (`range`).
 */
export type Drift = { field: string; kind: 'unknown' | 'type' | 'range'; example: unknown }

/** Long enough to recognise a value by, short enough for a log line or a table cell. */
const EXAMPLE_CHARACTERS = 100

/** Differences of one list that are kept, each with its first example: a few hundred fields are all that a document has. */
const MOST_KEPT = 1_000

/** Shortens a value to an example: short scalars as they are, everything else as text of at most 100 characters. */
export function shortenExample(value: unknown): unknown {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : textOf(value)
  return text.length > EXAMPLE_CHARACTERS ? `${text.slice(0, EXAMPLE_CHARACTERS - 1)}…` : text
}

function textOf(value: unknown): string {
  const excess = findExcess(value)
  return excess === undefined ? (JSON.stringify(value) ?? String(value)) : `(a value that ${excess})`
}

/** Keeps the first example of each field and kind, so that a list of a thousand entries reports a field once. */
export function dedupeDrift(drift: readonly Drift[]): Drift[] {
  return [...addDrift(new Map(), drift).values()]
}

/** Adds the first example of each field and kind to those that are `known`, and returns these; above 1,000 none is added. */
export function addDrift(known: Map<string, Drift>, drift: readonly Drift[]): Map<string, Drift> {
  for (const item of drift) {
    if (known.size >= MOST_KEPT) break
    const key = `${item.kind} ${item.field}`
    if (!known.has(key)) known.set(key, item)
  }
  return known
}

/** Lists the fields of `value` that `schema` does not know, by dotted name under `prefix`, through nested objects. */
export function listUnknownFields(schema: z.core.$ZodType, value: unknown, prefix: string): Drift[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return listUnknownFields(schema.unwrap(), value, prefix)
  }
  if (schema instanceof z.ZodPipe) return listUnknownFields(schema.out, value, prefix)
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return dedupeDrift(value.flatMap((item) => listUnknownFields(schema.element, item, `${prefix}[]`)))
  }
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return []
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape
  return Object.entries(value).flatMap(([key, inner]): Drift[] => {
    const field = prefix === '' ? key : `${prefix}.${key}`
    const known = Object.hasOwn(shape, key) ? shape[key] : undefined
    if (known) return listUnknownFields(known, inner, field)
    return [{ field, kind: 'unknown', example: shortenExample(inner) }]
  })
}
