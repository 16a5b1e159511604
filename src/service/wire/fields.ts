import { z } from 'zod'
import { parseDecimal } from '../../kit/floats.ts'

/** Postgres holds no `integer` beyond this. */
const MOST_INTEGER = 2_147_483_647
/**
 * A longer text, in bytes of UTF-8, is no identity: a row of a Postgres index holds 2,704 bytes with the other columns of
 * its key, and one path beyond that would fail the transaction of the whole list. Real ones have 10 to 40.
 */
export const MOST_IDENTITY_BYTES = 1_000
const TOO_LONG = `is longer than ${MOST_IDENTITY_BYTES} bytes`
/** Minutes and seconds, hours before them where there are any. */
const CLOCK = /^(?:\d+:)?\d{1,2}:\d{2}(?:\.\d+)?$/

// Field schemas that are lenient the way the service is loose: a missing or null field stays missing or null, a numeric
// string is a number, a number where text is promised is text. Anything else is an issue that ./lenient.ts mends.

/** A number, a numeric string, or nothing; an empty string is nothing. */
export const numberField = z.preprocess(readNumber, z.number().nullish()).optional()

/** A text; a number is written out as one. */
export const textField = z.preprocess(numberToText, z.string().nullish()).optional()

/** A whole number that a Postgres `integer` holds, or its text, or nothing. */
export const integerField = z
  .preprocess(readNumber, z.number().int().min(-MOST_INTEGER).max(MOST_INTEGER).nullish())
  .optional()

/** A duration as sent: a number, a numeric string read as one, or a clock such as `00:59:20` or `01:30` left as text. */
export const durationField = z
  .preprocess(readNumber, z.union([z.number(), z.string().trim().regex(CLOCK)]).nullish())
  .optional()

/**
 * What a thing is addressed by: a text that is not empty and that an index can hold (1,000 bytes), or a whole number that
 * JSON did not round.
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

/** Whether a value is a JSON object, neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
