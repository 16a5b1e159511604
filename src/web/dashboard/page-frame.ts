/** A page's frame; its contents come from `script`, or are just `text`. All of it is ours, so nothing is escaped. */
export type Page = { title: string; path?: string; script?: string; text?: string }

/**
 * What the menu has besides the pages: a link to the board of the queues, and a button that ends the session. `root` is the path below
 * which all pages are.
 */
export type Menu = { root: string; queues: boolean; signOut: boolean }

/** The pages of the menu, in its order. */
export const MENU: readonly Page[] = [
  { title: 'Today', path: '/', script: 'today/today.js' },
  { title: 'Activities', path: '/activities', script: 'activities/activities-page.js' },
  { title: 'Fitness', path: '/fitness', script: 'fitness/fitness.js' },
  { title: 'Runs', path: '/runs', script: 'runs/runs-page.js' },
]

const SHEETS = [
  'palette',
  'base',
  'frame',
  'parts',
  'cards',
  'day',
  'tables',
  'charts',
  'activities',
  'activity',
]
const STYLES = ['uplot/uPlot.min.css', ...SHEETS.map((name) => `styles/${name}.css`)]

/** Renders the frame of a page: head, a link past the navigation, the navigation, and the places that its script fills. */
export function renderPage(page: Page, menu: Menu): string {
  const { root } = menu
  const links = [
    ...MENU.map(
      ({ path, title }) =>
        `<a href="${root}${path}"${path === page.path ? ' aria-current="page"' : ''}>${title}</a>`,
    ),
    ...(menu.queues ? [`<a href="${root}/queues">Queues</a>`] : []),
  ]
  const styles = STYLES.map((name) => `<link rel="stylesheet" href="${root}/assets/${name}">`)
  const scripts = page.script ? ['frame.js', page.script] : ['frame.js']
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · musette</title>
<link rel="icon" href="${root}/assets/styles/icon.svg" type="image/svg+xml">
${styles.join('\n')}
${scripts.map((name) => `<script type="module" src="${root}/assets/${name}"></script>`).join('\n')}
</head>
<body>
<a class="skip" href="#main">Skip to the contents</a>
<header>
<a class="brand" href="${root}/"><img src="${root}/assets/styles/icon.svg" alt="" width="28" height="28"><span>musette</span></a>
<nav aria-label="Pages">${links.join('')}</nav>
${page.script ? '<p id="live" role="status"></p>' : ''}
${menu.signOut ? `<form method="post" action="${root}/logout"><button>Sign out</button></form>` : ''}
</header>
<div id="problem" role="alert"></div>
<main id="main" tabindex="-1">${page.script ? WAITING : `<h1>${page.title}</h1><p>${page.text} <a href="${root}/">To today</a></p>`}</main>
<footer>
<p>musette keeps your training history in your own Postgres. What it derives is named as derived.</p>
<div id="settings"></div>
</footer>
</body>
</html>
`
}

const WAITING = `<p class="waiting">Looking it up…</p>
<noscript><p>These pages are drawn by scripts of this machine. Without them, type: <code>musette status</code></p></noscript>`
