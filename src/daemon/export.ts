import { ConfigError } from '../kit/errors.ts'
import {
  EXPORT_COLUMNS,
  type ExportedActivity,
  findExportedActivity,
  findSampleLines,
} from '../store/samples/export.ts'
import type { Tx } from '../store/store.ts'
import { encodeParquet } from './export-parquet.ts'
import type { House } from './house.ts'
import { accountNamed } from './sign-in.ts'

export const EXPORT_FORMATS = ['csv', 'json', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

type Piece = string | Uint8Array

/**
 * Exports the samples of one activity, as they stand at one moment, piece by piece: the next is made when `write` has
 * taken the last. Returns undefined, or, with nothing written, the sentence that says why there are no samples. Throws
 * ConfigError `no_account` and `unknown_activity`.
 */
export async function exportActivity(
  house: House,
  input: {
    name: string
    path: string
    format: ExportFormat
    write: (piece: Piece) => Promise<void>
    signal: AbortSignal
  },
): Promise<string | undefined> {
  const { name, path, format, write, signal } = input
  const { accountId } = await accountNamed(house, name)
  return house.store.read(async (tx) => {
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
  return 'the service has none of it yet, and is asked again by itself; run: musette status'
}
