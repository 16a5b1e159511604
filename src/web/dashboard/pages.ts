import type { FastifyInstance, FastifyReply } from 'fastify'
import { TransientError } from '../../kit/errors.ts'
import type { DashboardDeps } from './deps.ts'
import { type Page, renderPage } from './shell.ts'

const OVERVIEW: Page = { title: 'Overview', path: '/', script: 'overview.js' }
const FITNESS: Page = { title: 'Fitness', path: '/fitness', script: 'fitness.js' }
const ACTIVITY: Page = { title: 'Activity', script: 'activity.js' }
const LONGEST_ID = 2_147_483_647

/** Adds the pages. They hold no data of their own: their scripts ask for it, and go on asking. */
export function registerPages(server: FastifyInstance, deps: DashboardDeps): void {
  server.get('/', async (_request, reply) => sendPage(reply, OVERVIEW))
  server.get('/fitness', async (_request, reply) => sendPage(reply, FITNESS))
  server.get<{ Params: { id: string } }>('/activities/:id', async (request, reply) => {
    const activityId = /^\d{1,10}$/.test(request.params.id) ? Number(request.params.id) : 0
    if (await isUnknown(deps, activityId)) {
      return sendPage(reply.code(404), { title: 'No such activity', text: NO_SUCH_ACTIVITY })
    }
    return sendPage(reply, ACTIVITY)
  })
}

const NO_SUCH_ACTIVITY = 'There is no activity of that number in the mirror.'

/** While the database is away nothing is known to be unknown: the page itself says so, and waits. */
async function isUnknown(deps: DashboardDeps, activityId: number): Promise<boolean> {
  if (activityId < 1 || activityId > LONGEST_ID) return true
  try {
    return (await deps.findActivity({ activityId })) === undefined
  } catch (error) {
    if (error instanceof TransientError) return false
    throw error
  }
}

function sendPage(reply: FastifyReply, page: Page) {
  return reply.type('text/html; charset=utf-8').send(renderPage(page))
}
