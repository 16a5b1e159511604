import type { FastifyInstance } from 'fastify'
import type { ActivityQuery, DashboardDeps } from './dashboard-types.ts'
import { sendView } from './send-view.ts'

/** The lengths that the list is filtered by, s; the browser's page names the same. */
const LENGTHS: Readonly<Record<string, { leastS?: number; belowS?: number }>> = {
  'under-1h': { belowS: 3_600 },
  '1h-2h': { leastS: 3_600, belowS: 7_200 },
  '2h-4h': { leastS: 7_200, belowS: 14_400 },
  'over-4h': { leastS: 14_400 },
}
const MOST_LINES = 200
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
  sort: ActivityQuery['order']['sort']
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
      limit: { type: 'integer', minimum: 1, maximum: MOST_LINES, default: 100 },
    },
  },
} as const

/** Adds the list of activities, a part at a time, and its choices with one year of it by day. */
export function registerActivityList(
  scope: FastifyInstance,
  deps: Pick<DashboardDeps, 'findActivityPage' | 'findActivityCalendar'>,
): void {
  scope.get<{ Querystring: Query }>('/activities/list', { schema: QUERY }, async (request, reply) => {
    const { offset, limit, ...query } = request.query
    return sendView(request, reply, await deps.findActivityPage({ ...normalizeQuery(query), offset, limit }))
  })
  scope.get<{ Querystring: Query }>('/activities/calendar', { schema: QUERY }, async (request, reply) =>
    sendView(request, reply, await deps.findActivityCalendar(normalizeQuery(request.query))),
  )
}

function normalizeQuery(query: Omit<Query, 'offset' | 'limit'>): ActivityQuery {
  const { search, account, type, year, day, length, breakthrough, power, absent, sort, order } = query
  return {
    filter: {
      search,
      account,
      type,
      year,
      day,
      ...(length !== undefined && LENGTHS[length]),
      breakthrough: breakthrough === 'yes',
      power: power === undefined ? undefined : power === 'yes',
      absent: absent === 'yes',
    },
    order: { sort, descending: order === 'desc' },
  }
}
