import { customType, doublePrecision, integer, pgSchema, real, text, timestamp } from 'drizzle-orm/pg-core'
import { type Camel, camelCase, type Field } from '../../fields/field.ts'

/** What analysts read. */
export const training = pgSchema('training')

/** What analysts must not reach: sealed tokens, locks and the journal of migrations. */
export const musette = pgSchema('musette')

/** A bytea column, read and written as a Buffer. */
export const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })

/**
 * A column of a list of numbers with gaps, such as `integer[]`. It is written as one text: the array of drizzle looks at each value
 * twice, and a file has hundreds of thousands.
 */
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
const makeText = (column: string) => text(column)
/** Numbers are in double precision, which keeps what was sent, but for those of the samples. */
const MAKERS = {
  ...{ number: makeDouble, duration: makeDouble, text: makeText, name: makeText, identity: makeText },
  ...{ real: (column: string) => real(column), integer: (column: string) => integer(column) },
}
type Stored = Readonly<Record<string, Field<keyof typeof MAKERS>>>
type Columns<L extends Stored> = {
  [C in keyof L & string as Camel<C>]: ReturnType<(typeof MAKERS)[L[C]['kind']]>
}

/** Makes the columns of fields of the service. */
export function columnsFor<L extends Stored>(fields: L): Columns<L> {
  return Object.fromEntries(
    Object.entries(fields).map(([column, { kind }]) => [camelCase(column), MAKERS[kind](column)]),
  ) as Columns<L>
}

/** The jsonb kinds of value, as JSON.parse makes them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
