import { DuckDBInstance, type JS } from '@duckdb/node-api'

/** Asks DuckDB, in memory and without the network, and returns its rows: times as Date, whole numbers of 64 bits as bigint. */
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
