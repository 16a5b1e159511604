import { DuckDBInstance } from '@duckdb/node-api'

// Writes rows in CSV, which come on standard input, as the Parquet file that is named first; their columns come second, as DuckDB has
// them. Plain JavaScript, so that the time of it holds no loader for TypeScript.
const [, , path, columns] = process.argv
const database = await (await DuckDBInstance.create(':memory:')).connect()
await database.run(
  `copy (select * from read_csv('/dev/stdin', header = false, columns = ${columns}))
   to '${path}' (format parquet, compression zstd)`,
)
