import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { TransientError } from '../../kit/errors.ts'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'
import type { DashboardDeps } from './dashboard-types.ts'
import { MENU, type Menu, type Page, renderPage } from './page-frame.ts'

const ACTIVITY: Page = { title: 'Activity', script: 'activity/activity.js' }
const NO_SUCH_ACTIVITY: Page = {
  title: 'No such activity',
  text: 'There is no activity of that number in the mirror.',
}
const NO_SUCH_PAGE: Page = { title: 'No such page', text: 'There is no page at this address.' }
const LONGEST_ID = 2_147_483_647

/** The compiled scripts and the styles. */
const ASSETS = join(PROGRAM_FOLDER, 'dist/web/browser')

/**
 * Adds the pages of the dashboard, at `/` and the addresses of its menu and at `/activities/<id>`, and their scripts and
 * styles under `/assets/`. The pages hold no data: their scripts fetch it from `/api/`, again and again.
 */
export async function registerDashboardPages(
  server: FastifyInstance,
  deps: Pick<DashboardDeps, 'findActivity'>,
  menu: Menu,
): Promise<void> {
  const charts = dirname(createRequire(import.meta.url).resolve('uplot/dist/uPlot.esm.js'))
  await serve(server, { root: ASSETS, prefix: '/assets/', served: /\.(js|css|svg)$/ })
  await serve(server, { root: charts, prefix: '/assets/uplot/', served: /^\/uPlot\.(esm\.js|min\.css)$/ })
  for (const page of MENU)
    server.get(page.path ?? '/', async (_request, reply) => sendPage(reply, page, menu))
  server.get<{ Params: { id: string } }>('/activities/:id', async (request, reply) => {
    const activityId = /^\d{1,10}$/.test(request.params.id) ? Number(request.params.id) : 0
    if (await isUnknown(deps, activityId)) return sendPage(reply.code(404), NO_SUCH_ACTIVITY, menu)
    return sendPage(reply, ACTIVITY, menu)
  })
}

/** Adds the file of each account's workout of the day, for a trainer or another program, as `/workouts-of-the-day/1.erg`. */
export function registerWorkoutFiles(
  server: FastifyInstance,
  deps: Pick<DashboardDeps, 'findWorkoutFile'>,
): void {
  server.get<{ Params: { account: string; format: string } }>(
    '/workouts-of-the-day/:account(^\\d{1,9}$).:format(^(?:erg|zwo)$)',
    async (request, reply) => {
      const { account, format } = request.params
      const file = await deps.findWorkoutFile({ accountId: Number(account), format })
      if (!file) return reply.callNotFound()
      const ascii = file.name.replaceAll(/[^\w. -]/g, '_')
      const name = `attachment; filename="${ascii}"; filename*=UTF-8''${encodeURIComponent(file.name)}`
      return reply.header('content-disposition', name).type('application/octet-stream').send(file.content)
    },
  )
}

/** Sends a browser that requests an unknown address a page with the menu. */
export function sendNoSuchPage(reply: FastifyReply, menu: Menu) {
  return sendPage(reply.code(404), NO_SUCH_PAGE, menu)
}

/** Serves files that a browser revalidates at each visit, so that none outlives an upgrade. */
async function serve(server: FastifyInstance, folder: { root: string; prefix: string; served: RegExp }) {
  await server.register(fastifyStatic, {
    root: folder.root,
    prefix: folder.prefix,
    decorateReply: false,
    index: false,
    cacheControl: false,
    allowedPath: (path) => folder.served.test(path),
    setHeaders: (reply) => void reply.header('cache-control', 'no-cache'),
  })
}

/** While the database is unreachable no activity counts as unknown: the page itself says so, and waits. */
async function isUnknown(deps: Pick<DashboardDeps, 'findActivity'>, activityId: number): Promise<boolean> {
  if (activityId < 1 || activityId > LONGEST_ID) return true
  try {
    return (await deps.findActivity({ activityId })) === undefined
  } catch (error) {
    if (error instanceof TransientError) return false
    throw error
  }
}

function sendPage(reply: FastifyReply, page: Page, menu: Menu) {
  return reply.type('text/html; charset=utf-8').send(renderPage(page, menu))
}
