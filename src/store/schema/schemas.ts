import { customType, pgSchema, timestamp } from 'drizzle-orm/pg-core'

/** What analysts read. */
export const training = pgSchema('training')

/** What analysts must not reach: sealed tokens, locks and the journal of migrations. */
export const musette = pgSchema('musette')

/** A bytea column, read and written as a Buffer. */
export const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })

/** A timestamptz column, read and written as a Date (whole milliseconds). */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })

/** The jsonb kinds of value, as JSON.parse makes them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
