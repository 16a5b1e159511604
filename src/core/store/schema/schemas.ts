import {
  customType,
  doublePrecision,
  integer,
  pgSchema,
  real,
  smallint,
  text,
  timestamp,
} from 'drizzle-orm/pg-core'
import { type Camel, camelCase, type Field } from '../../fields/field.ts'

/** The tables and views that analysts read. */
export const training = pgSchema('training')

/** The tables that analysts must not read: sealed tokens, locks and the journal of migrations. */
export const musette = pgSchema('musette')

/** A bytea column, read and written as a Buffer. */
export const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })

/** An array column of numbers and NULLs, such as `integer[]`. The array is written as one string, because drizzle's array visits each value twice. */
export const numberList = customType<{
  data: readonly (number | null)[]
  driverData: string
  config: { type: 'integer[]' | 'double precision[]' }
  configRequired: true
}>({
  dataType: ({ type }) => type,
  toDriver: (values) => `{${values.map((value) => value ?? 'NULL').join()}}`,
})

/** A timestamptz column, read and written as a Date (whole milliseconds). */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })

const makeDouble = (column: string) => doublePrecision(column)
const makeReal = (column: string) => real(column)
const makeInteger = (column: string) => integer(column)
const makeText = (column: string) => text(column)

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text

/** Returns a function that makes nullable columns of one type from their names, separated by spaces. */
const columnsOfType =
  <Column>(make: (column: string) => Column) =>
  <Names extends string>(names: Names) =>
    Object.fromEntries(names.split(' ').map((column) => [camelCase(column), make(column)])) as {
      [C in Words<Names> as Camel<C>]: Column
    }

export const doubles = columnsOfType(makeDouble)
export const reals = columnsOfType(makeReal)
export const integers = columnsOfType(makeInteger)
export const smallints = columnsOfType((column) => smallint(column))
export const texts = columnsOfType(makeText)

/** Numbers have double precision, which keeps the value as sent, except in samples. */
const MAKERS = {
  ...{ number: makeDouble, duration: makeDouble, text: makeText, name: makeText, identity: makeText },
  ...{ real: makeReal, integer: makeInteger },
}
type Stored = Readonly<Record<string, Field<keyof typeof MAKERS>>>
type Columns<L extends Stored> = {
  [C in keyof L & string as Camel<C>]: ReturnType<(typeof MAKERS)[L[C]['kind']]>
}

/** Makes the columns for fields of the service. */
export function columnsFor<L extends Stored>(fields: L): Columns<L> {
  return Object.fromEntries(
    Object.entries(fields).map(([column, { kind }]) => [camelCase(column), MAKERS[kind](column)]),
  ) as Columns<L>
}

/** A jsonb value, as JSON.parse returns it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
