import type { FastifyInstance } from 'fastify'
import { KEY } from '../../../../program/frame/downloads.ts'
import type { PagesApp } from '../page-frame.ts'
import { sendView } from '../send-view.ts'
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
export function registerActivity(scope: FastifyInstance, app: PagesApp): void {
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
