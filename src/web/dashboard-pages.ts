import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { TransientError } from '../kit/errors.ts'
import type { DashboardDeps } from './dashboard-types.ts'

/** A page's frame; its contents come from `script`, or are just `text`. All of it is ours, so nothing is escaped. */
type Page = { title: string; path?: string; script?: string; text?: string }

const OVERVIEW: Page = { title: 'Overview', path: '/', script: 'overview.js' }
const FITNESS: Page = { title: 'Fitness', path: '/fitness', script: 'fitness.js' }
const ACTIVITY: Page = { title: 'Activity', script: 'activity.js' }
const NO_SUCH_ACTIVITY: Page = {
  title: 'No such activity',
  text: 'There is no activity of that number in the mirror.',
}
const LONGEST_ID = 2_147_483_647

/** The compiled scripts and the styles, beside this module in dist/. */
const ASSETS = fileURLToPath(new URL('./browser', import.meta.url))
const SHEETS = ['palette', 'base', 'frame', 'parts', 'cards', 'tables', 'charts']
const STYLES = ['uplot/uPlot.min.css', ...SHEETS.map((name) => `styles/${name}.css`)]

/**
 * Adds the pages of the dashboard at `/`, `/activities/<id>` and `/fitness`, and their scripts and styles under
 * `/assets/`. The pages hold no data: their scripts fetch it from `/api/`, again and again.
 */
export async function registerDashboardPages(
  server: FastifyInstance,
  deps: Pick<DashboardDeps, 'findActivity'>,
): Promise<void> {
  const charts = dirname(createRequire(import.meta.url).resolve('uplot/dist/uPlot.esm.js'))
  await serve(server, { root: ASSETS, prefix: '/assets/', served: /\.(js|css|svg)$/ })
  await serve(server, { root: charts, prefix: '/assets/uplot/', served: /^\/uPlot\.(esm\.js|min\.css)$/ })
  server.get('/', async (_request, reply) => sendPage(reply, OVERVIEW))
  server.get('/fitness', async (_request, reply) => sendPage(reply, FITNESS))
  server.get<{ Params: { id: string } }>('/activities/:id', async (request, reply) => {
    const activityId = /^\d{1,10}$/.test(request.params.id) ? Number(request.params.id) : 0
    if (await isUnknown(deps, activityId)) return sendPage(reply.code(404), NO_SUCH_ACTIVITY)
    return sendPage(reply, ACTIVITY)
  })
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

function sendPage(reply: FastifyReply, page: Page) {
  return reply.type('text/html; charset=utf-8').send(renderPage(page))
}

/** Renders the frame of a page: head, a link past the navigation, the navigation, and the places that its script fills. */
function renderPage(page: Page): string {
  const links = [OVERVIEW, FITNESS].map(
    ({ path, title }) => `<a href="${path}"${path === page.path ? ' aria-current="page"' : ''}>${title}</a>`,
  )
  const styles = STYLES.map((name) => `<link rel="stylesheet" href="/assets/${name}">`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · musette</title>
<link rel="icon" href="/assets/styles/icon.svg" type="image/svg+xml">
${styles.join('\n')}
${page.script ? `<script type="module" src="/assets/${page.script}"></script>` : ''}
</head>
<body>
<a class="skip" href="#main">Skip to the contents</a>
<header>
<a class="brand" href="/"><img src="/assets/styles/icon.svg" alt="" width="28" height="28"><span>musette</span></a>
<nav aria-label="Pages">${links.join('')}</nav>
${page.script ? '<p id="live" role="status"></p>' : ''}
</header>
<div id="problem" role="alert"></div>
<main id="main" tabindex="-1">${page.script ? WAITING : `<h1>${page.title}</h1><p>${page.text} <a href="/">To the overview</a></p>`}</main>
<footer>musette keeps your training history in your own Postgres. What it derives is named as derived.</footer>
</body>
</html>
`
}

const WAITING = `<p class="waiting">Looking it up…</p>
<noscript><p>These pages are drawn by scripts of this machine. Without them, type: <code>musette status</code></p></noscript>`
