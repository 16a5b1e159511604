import type { FitMessageFields } from '../fit/fit-contents.ts'
import { type FitValue, firstOf } from '../fit/fit-values.ts'

export const SEMICIRCLES_PER_DEGREE = 2 ** 31 / 180
export const MAX_INTEGER = 2 ** 31 - 1

/** Returns a message's fields in the form of a `fields` column. */
export function fieldsOf({ fields, developerFields }: FitMessageFields) {
  return Object.keys(developerFields).length > 0 ? { ...fields, developer_fields: developerFields } : fields
}

export function hexOf(value: FitValue | undefined): string | null {
  return Array.isArray(value) ? Buffer.from(value.map(Number)).toString('hex') : null
}

export function nameOf(names: ReadonlyMap<number, string>, value: FitValue | undefined): string | null {
  const one = firstOf(value)
  return typeof one === 'number' ? (names.get(one) ?? String(one)) : null
}

export function textOf(value: FitValue | undefined): string | null {
  const one = firstOf(value)
  return typeof one === 'string' ? one : null
}

export function numberOf(value: FitValue | undefined): number | null {
  const one = firstOf(value)
  return typeof one === 'number' ? one : null
}

export function integerOf(value: FitValue | undefined): number | null {
  const one = numberOf(value)
  return one !== null && Number.isInteger(one) && Math.abs(one) <= MAX_INTEGER ? one : null
}

export function momentOf(value: FitValue | undefined): Date | null {
  const one = textOf(value)
  return one === null ? null : new Date(one)
}
