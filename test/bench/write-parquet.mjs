import { DuckDBInstance } from '@duckdb/node-api'

// Writes rows in CSV, which come on standard input, as the Parquet file that is named first; the second argument is the type of each
// column as a JSON object. No TypeScript, whose loader would be part of what export --all is compared with.
const [path, types] = process.argv.slice(2)
const columns = Object.entries(JSON.parse(types)).map(([name, type]) => `'${name}': '${type}'`)
const database = await (await DuckDBInstance.create(':memory:')).connect()
await database.run(
  `copy (select * from read_csv('/dev/stdin', header = false, columns = {${columns.join(', ')}}))
   to '${path}' (format parquet, compression zstd)`,
)
