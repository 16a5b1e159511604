import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { Compared, DashboardDeps, DownloadFormat } from './dashboard-types.ts'
import { sendView } from './send-view.ts'

/** The largest key that Postgres's integer holds. */
const ID = { type: 'integer', minimum: 1, maximum: 2_147_483_647 } as const
const BY_ID = { type: 'object', properties: { id: ID }, required: ['id'] } as const

const BY_FIELD = {
  params: {
    type: 'object',
    properties: { id: ID, field: { type: 'string', maxLength: 200 } },
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
      activity: ID,
    },
    minProperties: 1,
    maxProperties: 1,
  },
} as const

/** Adds one activity: its content, its samples, each further field of them, and what its power curve is compared with. */
export function registerActivity(scope: FastifyInstance, deps: DashboardDeps): void {
  scope.get<{ Params: { id: number } }>(
    '/activities/:id',
    { schema: { params: BY_ID } },
    async (request, reply) =>
      sendView(request, reply, await deps.findActivity({ activityId: request.params.id })),
  )
  scope.get<{ Params: { id: number } }>(
    '/activities/:id/samples',
    { schema: { params: BY_ID } },
    async (request, reply) =>
      sendView(request, reply, await deps.findSamples({ activityId: request.params.id })),
  )
  scope.get<{ Params: { id: number; field: string } }>(
    '/activities/:id/samples/:field',
    { schema: BY_FIELD },
    async (request, reply) => {
      const { id, field } = request.params
      return sendView(request, reply, await deps.findSampleField({ activityId: id, field }))
    },
  )
  scope.get<{ Params: { id: number }; Querystring: ComparedQuery }>(
    '/activities/:id/compared',
    { schema: COMPARED },
    async (request, reply) => {
      const compared = normalizeCompared(request.query)
      return sendView(request, reply, await deps.findCompared({ activityId: request.params.id, compared }))
    },
  )
}

function normalizeCompared({ season, span, activity }: ComparedQuery): Compared {
  if (season !== undefined) return { span: 'season', season }
  if (activity !== undefined) return { span: 'activity', other: activity }
  return { span: span === 'recent' ? 'last 90 days' : 'all time' }
}

const TYPES: Readonly<Record<DownloadFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  fit: 'application/vnd.ant.fit',
}
const DOWNLOAD = {
  params: BY_ID,
  querystring: {
    type: 'object',
    properties: { format: { type: 'string', enum: Object.keys(TYPES) } },
    required: ['format'],
  },
} as const

/** Adds the downloads of an activity at `/activities/<id>/download`. One that the browser drops ends its query, too. */
export function registerDownloads(server: FastifyInstance, deps: Pick<DashboardDeps, 'openDownload'>): void {
  server.get<{ Params: { id: number }; Querystring: { format: DownloadFormat } }>(
    '/activities/:id/download',
    { schema: DOWNLOAD },
    async (request, reply) => {
      const { format } = request.query
      const dropped = new AbortController()
      reply.raw.on('close', () => dropped.abort(new Error('the download was dropped')))
      const download = await deps.openDownload({
        activityId: request.params.id,
        format,
        signal: dropped.signal,
      })
      if (download === undefined)
        return reply.code(404).send({ error: 'there is no such activity in the mirror' })
      if ('missing' in download) return reply.code(404).send({ error: download.missing })
      return reply
        .type(TYPES[format])
        .header('content-disposition', `attachment; filename="${download.fileName}"`)
        .send(Readable.from(download.content))
    },
  )
}
