import { DuckDBInstance, type JS } from '@duckdb/node-api'

/** Runs SQL in DuckDB, in memory and without network access, and returns the rows: times as Date, 64-bit integers as bigint. */
export async function queryDuckDb(sql: string): Promise<Record<string, JS>[]> {
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    threads: '2',
  })
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJS()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
