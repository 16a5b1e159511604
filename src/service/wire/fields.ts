import { z } from 'zod'

// Field schemas that are lenient the way the service is loose: a missing or null field stays missing or null, a numeric
// string is a number, a number where text is promised is text. Anything else is an issue that ./lenient.ts mends.

/** A number, a numeric string, or nothing; an empty string is nothing. */
export const numberField = z
  .preprocess((value) => (typeof value === 'string' ? parseNumber(value) : value), z.number().nullish())
  .optional()

/** A text; a number is written out as one. */
export const textField = z.preprocess(numberToText, z.string().nullish()).optional()

/** A duration as sent: a number, a numeric string read as one, or a text such as `00:59:20` left raw. */
export const numberOrTextField = z
  .preprocess(
    (value) => (typeof value === 'string' ? (parseNumber(value) ?? value) : value),
    z.union([z.number(), z.string()]).nullish(),
  )
  .optional()

/** What a thing is addressed by: a text that is not empty, or a whole number that JSON did not round. */
export const identityField = z.preprocess(
  (value) => (Number.isSafeInteger(value) ? String(value) : value),
  z.string().min(1),
)

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

/** Whether a value is a JSON object, neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseNumber(text: string): number | string | null {
  const trimmed = text.trim()
  if (trimmed === '') return null
  return /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(trimmed) ? Number(trimmed) : text
}

function numberToText(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
