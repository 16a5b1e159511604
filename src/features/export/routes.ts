import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Tx } from '../../core/store/store.ts'
import { makeFileStem } from '../../kit/folders/file-name.ts'
import type { App } from '../../program/app/app.ts'
import { attachmentOf, KEY } from '../../program/frame/downloads.ts'
import { exportActivity } from './export-activity.ts'
import { EXPORT_FORMATS, type ExportFormat } from './export-formats.ts'

const TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  fit: 'application/vnd.ant.fit',
}

const DOWNLOAD = {
  params: { type: 'object', properties: { id: KEY }, required: ['id'] },
  querystring: {
    type: 'object',
    properties: { format: { type: 'string', enum: EXPORT_FORMATS } },
    required: ['format'],
  },
} as const

/** Adds the downloads at `/activities/<id>/download`. A download that the browser stops ends its query. */
export function registerDownloads(server: FastifyInstance, app: Pick<App, 'store'>): void {
  server.get<{ Params: { id: number }; Querystring: { format: ExportFormat } }>(
    '/activities/:id/download',
    { schema: DOWNLOAD },
    async (request, reply) => {
      const { format } = request.query
      const dropped = new AbortController()
      reply.raw.on('close', () => dropped.abort(new Error('the download was dropped')))
      const download = await openDownload(app, {
        activityId: request.params.id,
        format,
        signal: dropped.signal,
      })
      if (download === undefined)
        return reply.code(404).send({ error: 'there is no such activity in the mirror' })
      if ('missing' in download) return reply.code(404).send({ error: download.missing })
      return reply
        .type(TYPES[format])
        .header('content-disposition', attachmentOf(download.fileName))
        .send(Readable.from(download.content))
    },
  )
}

/**
 * Opens the download of an activity's samples, at the speed of the reader, until `signal`. Returns undefined when the activity does not
 * exist, and the reason as a sentence when it has no samples. A failure ends the content with an error.
 */
async function openDownload(
  app: Pick<App, 'store'>,
  input: { activityId: number; format: ExportFormat; signal: AbortSignal },
) {
  const { activityId, format, signal } = input
  const found = await app.store.read((tx) => findDownload(tx, activityId))
  if (!found) return undefined
  const { account, path, name, day, hasFit, hasSamples } = found
  if (format === 'fit' && !hasFit) return { missing: `the FIT file of activity ${path} is not kept here` }
  if (format !== 'fit' && !hasSamples) return { missing: `activity ${path} has no samples here` }
  const content = new PassThrough()
  const write = async (piece: string | Uint8Array) => {
    if (!content.write(piece)) await once(content, 'drain', { signal })
  }
  // Ends the stream with the query's error, because a broken download must not look complete.
  exportActivity(app, { name: account, path, format, write, signal }).then(
    (missing) => (missing === undefined ? content.end() : content.destroy(new Error(missing))),
    (error: unknown) => content.destroy(error instanceof Error ? error : new Error(String(error))),
  )
  return { fileName: `${makeFileStem(`${day ?? ''} ${name || path}`, path)}.${format}`, content }
}

type Download = {
  account: string
  path: string
  name: string | null
  /** the local day of its start */
  day: string | null
  hasSamples: boolean
  hasFit: boolean
}

/** Finds what there is to download of an activity, also an absent one; undefined for an unknown id. */
async function findDownload(tx: Tx, activityId: number): Promise<Download | undefined> {
  const { rows } = await tx.client.query<Download>(
    `select a.name as account, v.path, v.name, to_char(v.started_at_local, 'YYYY-MM-DD') as day,
       coalesce(v.sample_count, 0) > 0 as "hasSamples",
       exists (select from training.ride_files f join training.fit_originals o using (account_id, content_id)
               where f.account_id = v.account_id and f.activity_id = v.activity_id) as "hasFit"
     from training.activities v join training.accounts a using (account_id)
     where v.activity_id = $1`,
    [activityId],
  )
  return rows[0]
}
