import type { Tx } from '../../../core/store/store.ts'

/** About 300 kB: large enough to hide the round trip, small enough to hold several pages in memory. */
const ROWS_A_PAGE = 2_000

/** Finds the rows of a query through a cursor, a page of them at a time; one such query at a time in a transaction. */
export async function* findPages<Row extends unknown[]>(tx: Tx, query: string, values: readonly unknown[]) {
  // A person who pages through the output may leave the transaction idle for long.
  await tx.client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
  await tx.client.query(`DECLARE exported NO SCROLL CURSOR FOR ${query}`, [...values])
  for (;;) {
    const text = `FETCH ${ROWS_A_PAGE} FROM exported`
    const { rows } = await tx.client.query<Row>({ text, rowMode: 'array' })
    if (rows.length > 0) yield rows
    if (rows.length < ROWS_A_PAGE) break
  }
  await tx.client.query('CLOSE exported')
}
