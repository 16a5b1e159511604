import { customType, pgSchema, timestamp } from 'drizzle-orm/pg-core'

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

/** The jsonb kinds of value, as JSON.parse makes them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
