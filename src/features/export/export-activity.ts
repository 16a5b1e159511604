import { gunzipSync } from 'node:zlib'
import type { Store, Tx } from '../../core/store/store.ts'
import { findFitOriginal } from '../../core/store/uploads/kept-fit.ts'
import { ConfigError, commandFor } from '../../kit/errors.ts'
import { accountNamed } from '../../program/app/local-app.ts'
import { type ExportFormat, isTrackFormat, OF_POSITIONS } from './export-formats.ts'
import { encodeParquet } from './parquet/parquet-encoder.ts'
import {
  EXPORT_COLUMNS,
  type ExportedActivity,
  findExportedActivity,
  findSampleLines,
  findSamplePages,
  findTrack,
  SAMPLE_COLUMNS,
} from './rows/export-rows.ts'

type Piece = string | Uint8Array

/**
 * Exports the samples of one activity, or its FIT file, from one snapshot. Passes the content to `write` in pieces and awaits each call. If
 * there is nothing to write, returns a sentence with the reason; otherwise returns undefined. Throws ConfigError `no_account` and
 * `unknown_activity`, and the signal's reason.
 */
export async function exportActivity(
  app: { store: Pick<Store, 'read'> },
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
    if (!activity) {
      const look =
        'musette sql "select path, started_at_local, name from training.activities order by 2 desc"'
      const message = `account "${name}" has no activity ${path}; to list the paths, run: ${look}`
      throw new ConfigError('unknown_activity', message)
    }
    const file = format === 'fit' ? await findFitOriginal(tx, activity) : undefined
    if (format === 'fit' && !file)
      return `the FIT file of activity ${path} is not here; run: ${commandFor('upload', name)} FILE, which keeps the file and does not send it again`
    if (format !== 'fit' && activity.sampleCount === 0)
      return `activity ${path} has no samples here: ${whyNoSamples(activity, name)}`
    if (OF_POSITIONS.has(format) && !activity.hasPositions)
      return `activity ${path} has no positions, which ${format} needs; run: ${commandFor('export', name, path)} --format tcx`
    for await (const piece of file ? [gunzipSync(file.body)] : piecesOf(tx, activity, format)) {
      signal.throwIfAborted()
      await write(piece)
    }
    return undefined
  })
}

function piecesOf(tx: Tx, activity: ExportedActivity, format: ExportFormat): AsyncIterable<Piece> {
  if (format === 'csv') return csvPieces(tx, activity)
  if (format === 'json') return jsonPieces(tx, activity)
  if (isTrackFormat(format)) return findTrack(tx, activity.activityId, format)
  return encodeParquet('samples', SAMPLE_COLUMNS, findSamplePages(tx, [activity]))
}

async function* csvPieces(tx: Tx, { activityId, path }: ExportedActivity): AsyncGenerator<string> {
  yield `${EXPORT_COLUMNS.join(',')}\n`
  for await (const lines of findSampleLines(tx, { activityId, path, form: 'csv' }))
    yield `${lines.join('\n')}\n`
}

async function* jsonPieces(tx: Tx, { activityId, path, document }: ExportedActivity): AsyncGenerator<string> {
  let before = `{"activity":${document},"samples":[\n`
  for await (const lines of findSampleLines(tx, { activityId, path, form: 'json' })) {
    yield before + lines.join(',\n')
    before = ',\n'
  }
  yield '\n]}\n'
}

function whyNoSamples({ detailState, fetchError }: ExportedActivity, account: string): string {
  if (detailState === 'wanted') return `it has not been fetched yet; run: ${commandFor('sync', account)}`
  if (detailState === 'failed')
    return `its last fetch failed (${fetchError ?? 'no reason'}); run: musette status`
  if (detailState === 'mirrored') return 'the service has none'
  return 'the service has none yet; musette will fetch them again by itself; run: musette status'
}
