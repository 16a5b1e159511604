import type { Field } from '../../program/query/statement.ts'
import type { GuardedAnswer, GuardedReader } from './guarded-reader.ts'

/** A JSON value. Numbers that JavaScript would round are strings. */
type Value = string | number | boolean | null | object

/** Runs one statement with its parameters and returns its rows as objects. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Array<Record<string, unknown>>>

/** Makes the query function of one call; cancelling the call cancels its statements. */
export function makeQuery(reader: GuardedReader, signal: AbortSignal, searchPath?: string): Query {
  return async (text, values = []) => {
    const answer = await reader.read({ text, values, ...(searchPath && { searchPath }) }, signal)
    return valuesOf(answer).map((row) =>
      Object.fromEntries(answer.fields.map(({ name }, index) => [name, row[index] ?? null])),
    )
  }
}

/** Returns the rows of an answer as JSON values, in the order of the fields. */
export function valuesOf({ fields, rows }: GuardedAnswer): Value[][] {
  return rows.map((row) => row.map((text, index) => parseValue(fields[index], text)))
}

function parseValue(field: Field | undefined, text: string | null): Value {
  if (text === null) return null
  if (field?.form === 'boolean') return text === 't'
  if (field?.form === 'json') return JSON.parse(text) as Value
  if (field?.form === 'number') return numberOf(text)
  // A double represents up to 15 digits exactly.
  const isExact = /^-?\d+(\.\d+)?$/.test(text) && text.replace(/\D/g, '').length <= 15
  return field?.form === 'digits' && isExact ? numberOf(text) : text
}

/** Parses a number; returns infinity and NaN as text, because JSON lacks these numbers. */
function numberOf(text: string): number | string {
  const number = Number(text)
  return Number.isFinite(number) ? number : text
}
