import type { FastifyInstance } from 'fastify'
import type { App } from '../../../../program/app/app.ts'
import { sendView } from '../send-view.ts'
import { type ActivityFilter, findActivityCalendar, findActivityPage, type SortKey } from './queries.ts'

/** The lengths that the list is filtered by, s; the browser's page names the same. */
const LENGTHS: Readonly<Record<string, { leastS?: number; belowS?: number }>> = {
  'under-1h': { belowS: 3_600 },
  '1h-2h': { leastS: 3_600, belowS: 7_200 },
  '2h-4h': { leastS: 7_200, belowS: 14_400 },
  'over-4h': { leastS: 14_400 },
}
const MAX_LINES = 200
const WHOLE = { type: 'integer', minimum: 0, maximum: 2_147_483_647 } as const
const YES = { type: 'string', enum: ['yes'] } as const

type Query = {
  search?: string
  account?: number
  type?: string
  year?: number
  day?: string
  length?: string
  breakthrough?: 'yes'
  power?: 'yes' | 'no'
  absent?: 'yes'
  sort: SortKey
  order: 'asc' | 'desc'
  offset: number
  limit: number
}

const QUERY = {
  querystring: {
    type: 'object',
    properties: {
      search: { type: 'string', maxLength: 200 },
      account: WHOLE,
      type: { type: 'string', maxLength: 200 },
      year: { type: 'integer', minimum: 1, maximum: 9_999 },
      day: { type: 'string', format: 'date' },
      length: { type: 'string', enum: Object.keys(LENGTHS) },
      breakthrough: YES,
      power: { type: 'string', enum: ['yes', 'no'] },
      absent: YES,
      sort: {
        type: 'string',
        enum: ['started', 'name', 'time', 'distance', 'power', 'xss'],
        default: 'started',
      },
      order: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
      offset: { ...WHOLE, default: 0 },
      limit: { type: 'integer', minimum: 1, maximum: MAX_LINES, default: 100 },
    },
  },
} as const

/** Adds the list of activities in parts, the choices of its filters and one year by day. */
export function registerActivities(scope: FastifyInstance, app: Pick<App, 'store'>): void {
  scope.get<{ Querystring: Query }>('/activities/list', { schema: QUERY }, async (request, reply) => {
    const { offset, limit, sort, order } = request.query
    const wanted = {
      filter: normalizeFilter(request.query),
      order: { sort, descending: order === 'desc', language: languageOf(request.headers['accept-language']) },
      offset,
      limit,
    }
    return sendView(request, reply, await app.store.read((tx) => findActivityPage(tx, wanted)))
  })
  scope.get<{ Querystring: Query }>('/activities/calendar', { schema: QUERY }, async (request, reply) =>
    sendView(request, reply, await findActivityCalendar(app, normalizeFilter(request.query))),
  )
}

/** Returns a browser's preferred language, `sv` for `sv-SE,sv;q=0.9`. */
function languageOf(accepted: string | undefined): string | undefined {
  return accepted?.match(/^[a-z]{2,3}\b/i)?.[0].toLowerCase()
}

function normalizeFilter(query: Query): ActivityFilter {
  const { search, account, type, year, day, length, breakthrough, power, absent } = query
  return {
    ...{ search, account, type, year, day },
    ...(length !== undefined && LENGTHS[length]),
    breakthrough: breakthrough === 'yes',
    power: power === undefined ? undefined : power === 'yes',
    absent: absent === 'yes',
  }
}
