import { z } from 'zod'

/**
 * A field that the service document does not have (`unknown`), a value of another type than it says or that cannot be read
 * (`type`), or a number beyond what its column can hold (`range`).
 */
export type Drift = { field: string; kind: 'unknown' | 'type' | 'range'; example: unknown }

/** Long enough to recognise a value by, short enough for a log line or a table cell. */
const EXAMPLE_CHARACTERS = 100

/** Shortens a value to an example: short scalars as they are, everything else as text of at most 100 characters. */
export function shortenExample(value: unknown): unknown {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.length > EXAMPLE_CHARACTERS ? `${text.slice(0, EXAMPLE_CHARACTERS - 1)}…` : text
}

/** Keeps the first example of each field and kind, so that a list of a thousand entries reports a field once. */
export function dedupeDrift(drift: readonly Drift[]): Drift[] {
  const first = new Map<string, Drift>()
  for (const item of drift) {
    const key = `${item.kind} ${item.field}`
    if (!first.has(key)) first.set(key, item)
  }
  return [...first.values()]
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
