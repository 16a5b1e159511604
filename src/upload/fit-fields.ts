import type { FitMessageFields } from '../fit/fit-contents.ts'
import type { FitValue } from '../fit/fit-values.ts'

export const SEMICIRCLES_PER_DEGREE = 2 ** 31 / 180
export const LARGEST_INTEGER = 2 ** 31 - 1

/** Returns the fields of a message as a column `fields` holds them. */
export function fieldsOf({ fields, developerFields }: FitMessageFields) {
  return Object.keys(developerFields).length > 0 ? { ...fields, developer_fields: developerFields } : fields
}

export function hexOf(value: FitValue | undefined): string | null {
  return Array.isArray(value) ? Buffer.from(value.map(Number)).toString('hex') : null
}

export function nameOf(names: ReadonlyMap<number, string>, value: FitValue | undefined): string | null {
  return typeof value === 'number' ? (names.get(value) ?? String(value)) : null
}

export function textOf(value: FitValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

export function numberOf(value: FitValue | undefined): number | null {
  return typeof value === 'number' ? value : null
}

export function integerOf(value: FitValue | undefined): number | null {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= LARGEST_INTEGER
    ? value
    : null
}

export function momentOf(value: FitValue | undefined): Date | null {
  return typeof value === 'string' ? new Date(value) : null
}
