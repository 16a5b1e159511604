/** What canvas text is written in: the page's own letters at its smallest size. */
export const CHART_FONT = '12px system-ui, -apple-system, "Segoe UI", sans-serif'

/** Looks up a colour of the style sheet as it is now, light or dark. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

/** Calls `redraw` whenever the page turns light or dark while `element` is in it; announceScheme says so. */
export function onSchemeChange(element: HTMLElement, redraw: () => void): void {
  element.classList.add('follows-scheme')
  element.addEventListener('scheme', redraw)
}

/** Tells what follows the scheme when the page turns light or dark. A chart that has left the page is told nothing, and can go. */
export function announceScheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const element of document.querySelectorAll('.follows-scheme'))
      element.dispatchEvent(new Event('scheme'))
  })
}
