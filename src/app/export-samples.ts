import type { SchemaElement } from 'hyparquet-writer'
import { ConfigError } from '../kit/errors.ts'
import {
  EXPORT_COLUMNS,
  type ExportedActivity,
  findExportedActivity,
  findSampleLines,
  findSampleRows,
} from '../store/samples/export-rows.ts'
import type { Tx } from '../store/store.ts'
import type { App } from './app.ts'
import { accountNamed } from './app.ts'

export const EXPORT_FORMATS = ['csv', 'json', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

type Piece = string | Uint8Array

/**
 * Exports the samples of one activity in one snapshot, piece by piece: each is made after `write` of the last one has
 * resolved. Returns undefined, or, when there are no samples and nothing was written, the reason as a sentence. Throws
 * ConfigError `no_account` and `unknown_activity`, and the signal's reason.
 */
export async function exportActivity(
  app: Pick<App, 'store'>,
  input: {
    name: string
    path: string
    format: ExportFormat
    write: (piece: Piece) => Promise<void>
    signal: AbortSignal
  },
): Promise<string | undefined> {
  const { name, path, format, write, signal } = input
  const { accountId } = await accountNamed(app, name)
  return app.store.read(async (tx) => {
    const activity = await findExportedActivity(tx, { accountId, path })
    if (!activity) throw unknownActivity(name, path)
    if (activity.sampleCount === 0) return `activity ${path} has no samples here: ${whyNoSamples(activity)}`
    for await (const piece of piecesOf(tx, activity, format)) {
      signal.throwIfAborted()
      await write(piece)
    }
    return undefined
  })
}

function piecesOf(tx: Tx, activity: ExportedActivity, format: ExportFormat): AsyncIterable<Piece> {
  if (format === 'csv') return csvPieces(tx, activity)
  return format === 'json' ? jsonPieces(tx, activity) : encodeParquet(tx, activity)
}

async function* csvPieces(tx: Tx, { activityId }: ExportedActivity): AsyncGenerator<string> {
  yield `${EXPORT_COLUMNS.join(',')}\n`
  for await (const lines of findSampleLines(tx, { activityId, form: 'csv' })) yield `${lines.join('\n')}\n`
}

async function* jsonPieces(tx: Tx, { activityId, document }: ExportedActivity): AsyncGenerator<string> {
  let before = `{"activity":${document},"samples":[\n`
  for await (const lines of findSampleLines(tx, { activityId, form: 'json' })) {
    yield before + lines.join(',\n')
    before = ',\n'
  }
  yield '\n]}\n'
}

function unknownActivity(name: string, path: string): ConfigError {
  const look = 'musette sql "select path, started_at_local, name from training.activities order by 2 desc"'
  const message = `account "${name}" has no activity ${path}; the paths are in: ${look}`
  return new ConfigError('unknown_activity', message)
}

function whyNoSamples({ detailState, fetchError }: ExportedActivity): string {
  if (detailState === 'wanted') return 'it is not fetched yet; run: musette sync'
  if (detailState === 'failed')
    return `its last fetch failed (${fetchError ?? 'no reason'}); run: musette status`
  if (detailState === 'mirrored') return 'the service has none of it'
  return 'the service has none of it yet, and musette fetches it again by itself; run: musette status'
}

type Column = { name: string; data: Array<number | bigint | null> }

/**
 * Encodes the samples of an activity as one Parquet file: `t` in microseconds of UTC, the rest in the types of the table.
 * The file is made in memory, because the format has its directory at the end: about 3 MB for an activity of twelve hours.
 */
async function* encodeParquet(tx: Tx, input: { activityId: number }): AsyncGenerator<Uint8Array> {
  const columns: Column[] = EXPORT_COLUMNS.map((name) => ({ name, data: [] }))
  for await (const page of findSampleRows(tx, input.activityId)) {
    for (const [t, ...values] of page) {
      columns[0]?.data.push(t === null ? null : BigInt(t))
      for (const [index, value] of values.entries()) columns[index + 1]?.data.push(value)
    }
  }
  // Loaded only here, because no other format needs the library.
  const { parquetWriteBuffer } = await import('hyparquet-writer')
  yield new Uint8Array(
    parquetWriteBuffer({
      columnData: columns,
      schema: [{ name: 'samples', num_children: columns.length }, ...columns.map(elementOf)],
      // One row group, because an activity is small for this format.
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
