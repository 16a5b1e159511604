import type { SchemaElement } from 'hyparquet-writer'
import { EXPORT_COLUMNS, findSampleRows } from '../store/samples/export.ts'
import type { Tx } from '../store/store.ts'

type Column = { name: string; data: Array<number | bigint | null> }

/**
 * Encodes the samples of an activity as one Parquet file: `t` in microseconds of UTC, the rest in the types of the table.
 * The format has its directory at the end, so the file is made in memory: some 3 MB for a ride of twelve hours.
 */
export async function* encodeParquet(tx: Tx, input: { activityId: number }): AsyncGenerator<Uint8Array> {
  const columns: Column[] = EXPORT_COLUMNS.map((name) => ({ name, data: [] }))
  for await (const page of findSampleRows(tx, input.activityId)) {
    for (const [t, ...values] of page) {
      columns[0]?.data.push(t === null ? null : BigInt(t))
      for (const [index, value] of values.entries()) columns[index + 1]?.data.push(value)
    }
  }
  // Only this format needs the library.
  const { parquetWriteBuffer } = await import('hyparquet-writer')
  yield new Uint8Array(
    parquetWriteBuffer({
      columnData: columns,
      schema: [{ name: 'samples', num_children: columns.length }, ...columns.map(elementOf)],
      // One group of rows: a ride is small for this format.
      rowGroupSize: Math.max(1, columns[0]?.data.length ?? 0),
      createdBy: 'musette',
    }),
  )
}

function elementOf({ name }: Column): SchemaElement {
  const optional = { name, repetition_type: 'OPTIONAL' } as const
  if (name === 't') {
    return {
      ...optional,
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    }
  }
  return { ...optional, type: name === 'lat' || name === 'lng' ? 'DOUBLE' : 'FLOAT' }
}
