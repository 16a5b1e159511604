import type { FastifyInstance } from 'fastify'
import { SPORTS } from '../../../../core/store/schema/activities.ts'
import { KEY } from '../../../../program/frame/downloads.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView } from '../send-view.ts'
import { findFitness } from './queries.ts'

const QUERY = {
  account: KEY,
  season: { type: 'integer', minimum: 1900, maximum: 9999 },
  sport: { enum: [...SPORTS, 'all'] },
} as const

/** Adds the route of an account's fitness, with the bests of one season. */
export function registerFitness(scope: FastifyInstance, app: Pick<PagesApp, 'store'>): void {
  addView(scope, '/fitness', { query: QUERY }, ({ account: accountId, ...chosen }) =>
    findFitness(app, { accountId, ...chosen }),
  )
}
