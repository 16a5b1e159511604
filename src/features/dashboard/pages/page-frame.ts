import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { JobQueue } from '../../../core/jobs/queues.ts'
import { PROGRAM_FOLDER } from '../../../kit/program-folder.ts'
import type { WebParts } from '../../../program/frame/define-feature.ts'

/** The folder of the built scripts and styles. */
export const ASSETS = join(PROGRAM_FOLDER, 'dist/web')

/** The parts of the program that the pages need. */
export type PagesApp = Pick<WebParts['app'], 'config'> & {
  store: WebParts['visitorStore']
  /** reads as the database's owner, for findings and for writes */
  owner: WebParts['app']
  queues: readonly JobQueue[]
  /** the formats that pages link to, see `downloads` of Feature */
  downloads: Readonly<Record<'activity' | 'workout', readonly string[]>>
}

/**
 * A page. The content is `text`, or comes from the script in `folder` and the page's routes below `/api/`. The frame contains no untrusted
 * text, so nothing is escaped.
 */
export type Page = {
  title: string
  path?: string
  text?: string
  folder?: string
  register?: (scope: FastifyInstance, app: PagesApp) => void
}

/** The pages of the menu in order, and whether the menu has a sign-out button. `root` is the path prefix of all pages. */
export type Menu = { pages: readonly Page[]; root: string; signOut: boolean }

/**
 * Renders the frame of a page: header, skip link, navigation, and the elements that the script fills. While the browser loads the script,
 * it also prefetches the paths in `data`, which are below the root.
 */
export function renderPage(page: Page, menu: Menu, data: readonly string[] = []): string {
  const { root } = menu
  const links = menu.pages.map(
    ({ path, title }) =>
      `<a href="${root}${path}"${path === page.path ? ' aria-current="page"' : ''}>${title}</a>`,
  )
  const script = page.folder ? `pages/${page.folder}/page` : 'shared/text-page'
  const styles = ['shared/styles/styles.css', `${script}.css`].filter((name) =>
    existsSync(join(ASSETS, name)),
  )
  return `<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · musette</title>
<link rel="icon" href="${root}/assets/shared/styles/icon.svg" type="image/svg+xml">
${[
  ...styles.map((name) => `<link rel="stylesheet" href="${root}/assets/${name}">`),
  ...data.map((path) => `<link rel="preload" as="fetch" crossorigin href="${root}${path}">`),
].join('\n')}
<script type="module" src="${root}/assets/${script}.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="${root}/"><img src="${root}/assets/shared/styles/icon.svg" alt="" width="28" height="28"><span>musette</span></a>
<nav aria-label="Pages">${links.join('')}</nav>
${page.folder ? '<p id="live" role="status"></p>' : ''}
${menu.signOut ? `<form method="post" action="${root}/logout"><button>Sign out</button></form>` : ''}
</header>
<div id="problem" role="alert"></div>
<div id="drop"></div>
<main id="main" tabindex="-1">${page.folder ? WAITING : `<h1>${page.title}</h1><p>${page.text} <a href="${root}/">To today</a></p>`}</main>
<footer>
<p>musette keeps your training history in your own Postgres. Values that musette computes are marked as derived.</p>
<div id="settings"></div>
</footer>
</body>
</html>
`
}

const WAITING = `<p class="waiting">Loading…</p>
<noscript><p>These pages need JavaScript. Without it, run: <code>musette status</code></p></noscript>`
