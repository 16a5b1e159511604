import { sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type pg from 'pg'
import type { Tx } from '../../../core/store/store.ts'

const DIALECT = new PgDialect()

/** Returns a template tag that runs a query and returns its rows. Interpolated values become parameters, except SQL made by drizzle's `sql`. */
export function rowsOf<Row extends pg.QueryResultRow>(tx: Tx) {
  return async (text: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> => {
    const query = DIALECT.sqlToQuery(sql(text, ...values))
    return (await tx.client.query<Row>(query.sql, query.params)).rows
  }
}
