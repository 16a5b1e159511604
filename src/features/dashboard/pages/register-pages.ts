import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ConfigError, errorLine, TransientError } from '../../../kit/errors.ts'
import { makeCachedProbe } from '../../../program/frame/cached-probe.ts'
import type { WebParts } from '../../../program/frame/define-feature.ts'
import { makeFacts } from '../../../program/frame/findings/facts.ts'
import { registerActivities } from './activities/routes.ts'
import { findActivityFacts, samplesPathOf } from './activity/queries.ts'
import { registerActivity } from './activity/routes.ts'
import { registerFitness } from './fitness/routes.ts'
import { registerMap } from './map/routes.ts'
import { ASSETS, type Menu, type Page, type PagesApp, renderPage } from './page-frame.ts'
import { registerRuns } from './runs/routes.ts'
import { KEEP_MS } from './send-view.ts'
import { collectProblems } from './today/problems.ts'
import { registerToday, registerWorkoutOfDay } from './today/routes.ts'
import { registerWrites } from './today/write-routes.ts'
import { registerTotals } from './totals/routes.ts'

/** The pages, in the order of the menu. Each page has a folder with its queries, its routes below `/api/`, its view and its style. */
const PAGES: readonly Page[] = [
  { title: 'Today', path: '/', folder: 'today', register: registerToday },
  { title: 'Activities', path: '/activities', folder: 'activities', register: registerActivities },
  { title: 'Fitness', path: '/fitness', folder: 'fitness', register: registerFitness },
  { title: 'Map', path: '/map', folder: 'map', register: registerMap },
  { title: 'Totals', path: '/totals', folder: 'totals', register: registerTotals },
  { title: 'Runs', path: '/runs', folder: 'runs', register: registerRuns },
]
const ACTIVITY: Page = { title: 'Activity', folder: 'activity', register: registerActivity }
const NO_SUCH_ACTIVITY: Page = {
  title: 'No such activity',
  text: 'The mirror has no activity with this number.',
}
const NO_SUCH_PAGE: Page = { title: 'No such page', text: 'There is no page at this address.' }
const MAX_ID = 2_147_483_647

/**
 * Adds the pages of the dashboard: `/`, the paths of its menu and `/activities/<id>`, with scripts and styles below `/assets/`. The pages
 * contain no data; their scripts fetch it from `/api/`. For an unknown path, a browser gets a page with the menu.
 */
export async function registerPages(
  server: FastifyInstance,
  { app: owner, visitorStore, jobs, features, root, signOut, isWatched, setNoSuchPage }: WebParts,
): Promise<void> {
  const formatsOf = (of: 'activity' | 'workout') => features.flatMap(({ downloads }) => downloads?.[of] ?? [])
  const downloads = { activity: formatsOf('activity'), workout: formatsOf('workout') }
  const { config } = owner
  const app = { config, store: visitorStore, owner, queues: jobs.queues(), downloads }
  const menu = { pages: PAGES, root, signOut }
  setNoSuchPage((reply) => sendPage(reply.code(404), NO_SUCH_PAGE, menu))
  await server.register((scope) => registerFrames(scope, app, menu))
  registerWorkoutOfDay(server, app)
  await registerWrites(server, app, isWatched)
  await server.register(
    async (scope) => {
      scope.setErrorHandler((error, _request, reply) => {
        // Handles temporary errors and errors that a person can fix; the server handles the others.
        if (!(error instanceof TransientError || error instanceof ConfigError)) throw error
        return reply.code(503).send({ error: errorLine(error) })
      })
      const findHeader = () => collectProblems(makeFacts(owner, new Date(), 'doubtful'), 'header', 1)
      const findLogin = makeCachedProbe(findHeader, { keepMs: KEEP_MS })
      scope.addHook('onSend', async ({ authenticated }, reply) => {
        // A response to an unauthenticated request must name no account.
        if (!authenticated) return
        // If the database is down, the page itself reports it.
        const login = await findLogin().catch(() => [])
        if (login.length > 0) reply.header('x-musette-login', encodeURIComponent(JSON.stringify(login)))
      })
      for (const page of [...PAGES, ACTIVITY]) page.register?.(scope, app)
    },
    { prefix: '/api' },
  )
}

/** Adds the frames of the pages, and their scripts and styles. */
async function registerFrames(scope: FastifyInstance, app: PagesApp, menu: Menu): Promise<void> {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, page: true }
  })
  await scope.register(fastifyStatic, {
    root: ASSETS,
    prefix: '/assets/',
    decorateReply: false,
    index: false,
    cacheControl: false,
    // The build writes the compressed files beside the plain ones.
    preCompressed: true,
    allowedPath: (path) => /\.(js|css|svg)$/.test(path),
    // The browser must revalidate on each visit, because an upgrade changes the files.
    setHeaders: (reply) => void reply.header('cache-control', 'no-cache'),
  })
  for (const page of PAGES)
    scope.get(page.path ?? '/', async (_request, reply) => sendPage(reply, page, menu))
  scope.get<{ Params: { id: string } }>('/activities/:id', async (request, reply) => {
    const activityId = /^\d{1,10}$/.test(request.params.id) ? Number(request.params.id) : 0
    // Without authentication, does not reveal which activities exist.
    if (!request.authenticated) return sendPage(reply, ACTIVITY, menu)
    const facts = await findFacts(app, activityId)
    if (facts === undefined) return sendPage(reply.code(404), NO_SUCH_ACTIVITY, menu)
    const samples = facts && samplesPathOf(facts)
    return sendPage(reply, ACTIVITY, menu, [`/api/activities/${activityId}`, ...(samples ? [samples] : [])])
  })
  // Old bookmarks point to `/queues`, the former page of the queues.
  scope.get('/queues', async (_request, reply) => reply.redirect('/runs#queues', 301))
}

/**
 * Finds an activity; undefined if the activity does not exist, null if the database is unreachable. In that case the page reports the
 * problem while it waits.
 */
async function findFacts(app: PagesApp, activityId: number) {
  if (activityId < 1 || activityId > MAX_ID) return undefined
  try {
    return await app.store.read((tx) => findActivityFacts(tx, activityId))
  } catch (error) {
    if (error instanceof TransientError) return null
    throw error
  }
}

function sendPage(reply: FastifyReply, page: Page, menu: Menu, data?: readonly string[]) {
  return reply.type('text/html; charset=utf-8').send(renderPage(page, menu, data))
}
