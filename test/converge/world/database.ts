import { connect } from '../../kit/connect.ts'

/** One migrated database for many runs, on a connection of the test's own that no broken line touches. */
export type RunDatabase = Awaited<ReturnType<typeof openRunDatabase>>

/** Opens a migrated database for runs; what it holds is lost. */
export async function openRunDatabase(url: string) {
  const client = await connect(url, { application_name: 'converge' })
  return {
    url,
    async rows<Row extends Record<string, unknown>>(text: string, values: unknown[] = []) {
      return (await client.query<Row>(text, values)).rows
    },
    /** ends every connection but this one, as a restart of the server does */
    async terminate() {
      await client.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
      )
    },
    /** empties every table */
    async reset() {
      await client.query(
        'truncate training.accounts, training.samples, training.drift, training.fit_records cascade',
      )
    },
    close: () => client.end(),
  }
}
