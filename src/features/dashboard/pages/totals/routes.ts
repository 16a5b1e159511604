import type { FastifyInstance } from 'fastify'
import { SPORTS } from '../../../../core/store/schema/activities.ts'
import { KEY } from '../../../../program/frame/downloads.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView } from '../send-view.ts'
import { findTotals } from './queries.ts'

/** Adds the route of an account's totals in one sport. */
export function registerTotals(scope: FastifyInstance, app: Pick<PagesApp, 'store'>): void {
  addView(scope, '/totals', { query: { account: KEY, sport: { enum: SPORTS } } }, ({ account, sport }) =>
    findTotals(app, { accountId: account, sport }),
  )
}
