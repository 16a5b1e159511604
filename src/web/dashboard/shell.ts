/** A page's frame; its contents come from `script`, or it is just `text`. All of it is ours, so nothing is escaped. */
export type Page = { title: string; path?: string; script?: string; text?: string }

const PLACES = [
  { path: '/', title: 'Overview' },
  { path: '/fitness', title: 'Fitness' },
]
const SHEETS = ['palette', 'base', 'frame', 'parts', 'cards', 'tables', 'charts']
const STYLES = ['uplot/uPlot.min.css', ...SHEETS.map((name) => `${name}.css`)]

/** Renders the frame of a page: head, way past the navigation, navigation, and the places that its script fills. */
export function renderPage(page: Page): string {
  const links = PLACES.map(
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
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
${styles.join('\n')}
${page.script ? `<script type="module" src="/assets/${page.script}"></script>` : ''}
</head>
<body>
<a class="skip" href="#main">Skip to the contents</a>
<header>
<a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="28" height="28"><span>musette</span></a>
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
