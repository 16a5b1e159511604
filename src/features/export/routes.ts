import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Tx } from '../../core/store/store.ts'
import type { WebParts } from '../../program/frame/define-feature.ts'
import { attachmentOf, KEY } from '../../program/frame/downloads.ts'
import { exportActivity } from './export-activity.ts'
import { EXPORT_FORMATS, type ExportFormat, OF_POSITIONS } from './export-formats.ts'

const TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  fit: 'application/vnd.ant.fit',
  gpx: 'application/gpx+xml',
  tcx: 'application/vnd.garmin.tcx+xml',
  geojson: 'application/geo+json',
}

const DOWNLOAD = {
  params: { type: 'object', properties: { id: KEY }, required: ['id'] },
  querystring: {
    type: 'object',
    properties: { format: { type: 'string', enum: EXPORT_FORMATS } },
    required: ['format'],
  },
} as const

/**
 * Adds the downloads at `/activities/<id>/download`. Each download streams as fast as the browser reads; if the browser stops, the query
 * ends.
 */
export function registerDownloads(server: FastifyInstance, { visitorStore: store }: WebParts): void {
  server.get<{ Params: { id: number }; Querystring: { format: ExportFormat } }>(
    '/activities/:id/download',
    { schema: DOWNLOAD },
    async (request, reply) => {
      const { format } = request.query
      const found = await store.read((tx) => findDownload(tx, request.params.id))
      const missing = found ? missingOf(found, format) : 'there is no such activity in the mirror'
      if (!found || missing !== undefined) return reply.code(404).send({ error: missing })
      const { account, path, name, day } = found
      const dropped = new AbortController()
      const { signal } = dropped
      reply.raw.on('close', () => dropped.abort(new Error('the download was dropped')))
      const content = new PassThrough()
      const write = async (piece: string | Uint8Array) => {
        if (!content.write(piece)) await once(content, 'drain', { signal })
      }
      // Destroy the stream on an error, because a broken download must not look complete.
      exportActivity({ store }, { name: account, path, format, write, signal }).then(
        (why) => (why === undefined ? content.end() : content.destroy(new Error(why))),
        (error: unknown) => content.destroy(error instanceof Error ? error : new Error(String(error))),
      )
      const named = { name: `${day ?? ''} ${name || path}`, fallback: path, format }
      return reply
        .type(TYPES[format])
        .header('content-disposition', attachmentOf(named))
        .send(Readable.from(content))
    },
  )
}

/** Returns the reason why an activity cannot be downloaded; undefined if there is none. */
function missingOf(
  { path, hasFit, hasSamples, hasPositions }: Download,
  format: ExportFormat,
): string | undefined {
  if (format === 'fit') return hasFit ? undefined : `the FIT file of activity ${path} is not kept here`
  if (OF_POSITIONS.has(format) && !hasPositions) return `activity ${path} has no positions here`
  return hasSamples ? undefined : `activity ${path} has no samples here`
}

/** `day` is the local day of the activity's start. */
type Download = Record<'account' | 'path', string> &
  Record<'name' | 'day', string | null> &
  Record<'hasSamples' | 'hasPositions' | 'hasFit', boolean>

/** Finds what can be downloaded of an activity, even if the service no longer lists it; returns undefined for an unknown id. */
async function findDownload(tx: Tx, activityId: number): Promise<Download | undefined> {
  const { rows } = await tx.client.query<Download>(
    `select a.name as account, v.path, v.name, to_char(v.started_at_local, 'YYYY-MM-DD') as day,
       coalesce(v.sample_count, 0) > 0 as "hasSamples", v.start_lat is not null as "hasPositions",
       exists (select from training.ride_files f join training.fit_originals o using (account_id, content_id)
               where f.account_id = v.account_id and f.activity_id = v.activity_id) as "hasFit"
     from training.activities v join training.accounts a using (account_id)
     where v.activity_id = $1`,
    [activityId],
  )
  return rows[0]
}
