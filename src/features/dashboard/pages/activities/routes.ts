import type { FastifyInstance } from 'fastify'
import type { PagesApp } from '../page-frame.ts'
import { addView } from '../send-view.ts'
import { FILTER, findActivityCalendar, findActivityPage, SORT_KEYS, type SortKey } from './queries.ts'

const MAX_LINES = 200

const QUERY = {
  ...FILTER,
  sort: { enum: Object.keys(SORT_KEYS) as SortKey[], default: 'started' },
  order: { enum: ['asc', 'desc'], default: 'desc' },
  offset: { type: 'integer', minimum: 0, maximum: 2_147_483_647, default: 0 },
  limit: { type: 'integer', minimum: 1, maximum: MAX_LINES, default: 100 },
} as const

/** Adds the routes of the list of activities, page by page, and of its filters with a year by day. */
export function registerActivities(scope: FastifyInstance, { store }: Pick<PagesApp, 'store'>): void {
  addView(
    scope,
    '/activities/list',
    { query: QUERY },
    ({ sort, order, offset, limit, ...filter }, headers) => {
      // The browser's preferred language, for example `sv` from `sv-SE,sv;q=0.9`.
      const language = headers['accept-language']?.match(/^[a-z]{2,3}\b/i)?.[0].toLowerCase()
      const by = { sort, descending: order === 'desc', language }
      return store.read((tx) => findActivityPage(tx, { filter, order: by, offset, limit }))
    },
  )
  addView(scope, '/activities/calendar', { query: QUERY }, (filter) =>
    findActivityCalendar({ store }, filter),
  )
}
