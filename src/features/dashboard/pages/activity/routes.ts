import type { FastifyInstance } from 'fastify'
import { KEY } from '../../../../program/frame/downloads.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView } from '../send-view.ts'
import { findSampleColumns, findSampleField } from './plotted-samples.ts'
import { findActivity, findActivityFacts, findCompared } from './queries.ts'

const COMPARED = {
  season: { type: 'integer', minimum: 1, maximum: 9_999 },
  span: { type: 'string', enum: ['all', 'recent'] },
  activity: KEY,
} as const

/** Adds the routes of one activity: its content, samples, further fields, and the comparison of its power curve. */
export function registerActivity(scope: FastifyInstance, app: PagesApp): void {
  const params = { id: KEY } as const
  addView(scope, '/activities/:id', { params }, ({ id }) => findActivity(app, { activityId: id }))
  addView(scope, '/activities/:id/samples', { params }, ({ id }) =>
    app.store.read(async (tx) => ((await findActivityFacts(tx, id)) ? findSampleColumns(tx, id) : undefined)),
  )
  addView(
    scope,
    '/activities/:id/samples/:field',
    { params: { id: KEY, field: { type: 'string', maxLength: 200 } } },
    ({ id, field }) => app.store.read((tx) => findSampleField(tx, { activityId: id, field })),
  )
  addView(
    scope,
    '/activities/:id/compared',
    { params, query: COMPARED, minProperties: 1, maxProperties: 1 },
    ({ id, ...compared }) => findCompared(app, { activityId: id, ...compared }),
  )
}
