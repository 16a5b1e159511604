import type { FastifyInstance } from 'fastify'
import { SPORTS } from '../../../../core/store/schema/activities.ts'
import type { App } from '../../../../program/app/app.ts'
import { KEY } from '../../../../program/frame/downloads.ts'
import { addView } from '../send-view.ts'
import { findTotals } from './queries.ts'

/** Adds the totals of one sport of one account. */
export function registerTotals(scope: FastifyInstance, app: Pick<App, 'store'>): void {
  addView(scope, '/totals', { query: { account: KEY, sport: { enum: SPORTS } } }, ({ account, sport }) =>
    findTotals(app, { accountId: account, sport }),
  )
}
