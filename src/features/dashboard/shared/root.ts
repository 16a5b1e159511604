/** The path above all pages, which the daemon writes into each page; empty at the root of a host. */
export const ROOT = document.documentElement.dataset.root ?? ''

/** Finds an element of the page's frame. */
export function find(selector: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(selector)
  if (!element) throw new Error(`the page has no ${selector}`)
  return element
}
