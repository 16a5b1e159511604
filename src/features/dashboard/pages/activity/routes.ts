import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { App } from '../../../../app/app.ts'
import { makeFileStem } from '../../../../kit/folders/file-name.ts'
import { exportActivity } from '../../../export/export-activity.ts'
import { attachmentOf, KEY, sendView } from '../send-view.ts'
import { findSampleColumns, findSampleField } from './plotted-samples.ts'
import { type Compared, findActivity, findActivityFacts, findCompared } from './queries.ts'

const BY_ID = { type: 'object', properties: { id: KEY }, required: ['id'] } as const

const BY_FIELD = {
  params: {
    type: 'object',
    properties: { id: KEY, field: { type: 'string', maxLength: 200 } },
    required: ['id', 'field'],
  },
} as const

type ComparedQuery = { season?: number; span?: 'all' | 'recent'; activity?: number }
const COMPARED = {
  params: BY_ID,
  querystring: {
    type: 'object',
    properties: {
      season: { type: 'integer', minimum: 1, maximum: 9_999 },
      span: { type: 'string', enum: ['all', 'recent'] },
      activity: KEY,
    },
    minProperties: 1,
    maxProperties: 1,
  },
} as const

/** Adds one activity: its content, samples, further fields, and the comparison of its power curve. */
export function registerActivity(scope: FastifyInstance, app: Pick<App, 'config' | 'store'>): void {
  scope.get<{ Params: { id: number } }>(
    '/activities/:id',
    { schema: { params: BY_ID } },
    async (request, reply) =>
      sendView(request, reply, await findActivity(app, { activityId: request.params.id })),
  )
  scope.get<{ Params: { id: number } }>(
    '/activities/:id/samples',
    { schema: { params: BY_ID } },
    async (request, reply) => {
      const { id } = request.params
      const samples = await app.store.read(async (tx) =>
        (await findActivityFacts(tx, id)) ? findSampleColumns(tx, id) : undefined,
      )
      return sendView(request, reply, samples)
    },
  )
  scope.get<{ Params: { id: number; field: string } }>(
    '/activities/:id/samples/:field',
    { schema: BY_FIELD },
    async (request, reply) => {
      const { id, field } = request.params
      const values = await app.store.read((tx) => findSampleField(tx, { activityId: id, field }))
      return sendView(request, reply, values)
    },
  )
  scope.get<{ Params: { id: number }; Querystring: ComparedQuery }>(
    '/activities/:id/compared',
    { schema: COMPARED },
    async (request, reply) => {
      const compared = normalizeCompared(request.query)
      return sendView(request, reply, await findCompared(app, { activityId: request.params.id, compared }))
    },
  )
}

function normalizeCompared({ season, span, activity }: ComparedQuery): Compared {
  if (season !== undefined) return { span: 'season', season }
  if (activity !== undefined) return { span: 'activity', other: activity }
  return { span: span === 'recent' ? 'last 90 days' : 'all time' }
}

const TYPES = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  fit: 'application/vnd.ant.fit',
}
/** A format for the download of samples. */
type DownloadFormat = keyof typeof TYPES

const DOWNLOAD = {
  params: BY_ID,
  querystring: {
    type: 'object',
    properties: { format: { type: 'string', enum: Object.keys(TYPES) } },
    required: ['format'],
  },
} as const

/** Adds the downloads at `/activities/<id>/download`. A download that the browser stops ends its query. */
export function registerDownloads(server: FastifyInstance, app: Pick<App, 'store'>): void {
  server.get<{ Params: { id: number }; Querystring: { format: DownloadFormat } }>(
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
  input: { activityId: number; format: DownloadFormat; signal: AbortSignal },
) {
  const { activityId, format, signal } = input
  const facts = await app.store.read((tx) => findActivityFacts(tx, activityId))
  if (!facts) return undefined
  if (format === 'fit' && !facts.has_fit)
    return { missing: `the FIT file of activity ${facts.path} is not kept here` }
  if (format !== 'fit' && !facts.sample_count)
    return { missing: `activity ${facts.path} has no samples here` }
  const content = new PassThrough()
  const write = async (piece: string | Uint8Array) => {
    if (!content.write(piece)) await once(content, 'drain', { signal })
  }
  // Ends the stream with the query's error, because a broken download must not look complete.
  exportActivity(app, { name: facts.account, path: facts.path, format, write, signal }).then(
    (missing) => (missing === undefined ? content.end() : content.destroy(new Error(missing))),
    (error: unknown) => content.destroy(error instanceof Error ? error : new Error(String(error))),
  )
  const day = facts.started_at_local?.slice(0, 10) ?? ''
  return { fileName: `${makeFileStem(`${day} ${facts.name || facts.path}`, facts.path)}.${format}`, content }
}
