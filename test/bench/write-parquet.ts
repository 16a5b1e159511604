import { DuckDBInstance } from '@duckdb/node-api'
import { SAMPLE_FIELDS } from '../../src/store/samples/encode-samples.ts'

// Writes samples in CSV, which come on standard input, as the Parquet file that is named: what export --all is compared with. With `extras`
// after its name, they have that column, too.
const typeOf = (field: string) => (field === 'lat' || field === 'lng' ? 'DOUBLE' : 'FLOAT')
const columns = [
  "'activity_id': 'INTEGER'",
  "'t': 'TIMESTAMPTZ'",
  ...SAMPLE_FIELDS.map((name) => `'${name}': '${typeOf(name)}'`),
  ...(process.argv[3] === 'extras' ? ["'extras': 'VARCHAR'"] : []),
]
const database = await (await DuckDBInstance.create(':memory:')).connect()
await database.run(
  `copy (select * from read_csv('/dev/stdin', header = false, columns = {${columns.join(', ')}}))
   to '${process.argv[2]}' (format parquet, compression zstd)`,
)
