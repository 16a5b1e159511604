/** The path above all pages, which the daemon writes into each page; empty at the root of a host. */
export const ROOT = document.documentElement.dataset.root ?? ''

/** Returns the headers of this page's requests: the key of its session, which the login left in the browser's storage. */
export function sessionHeaders(): Record<string, string> {
  try {
    const key = localStorage.getItem(`musette-key ${ROOT}`)
    return key === null ? {} : { 'x-musette-key': key }
  } catch {
    // A browser may forbid storage; without a token the daemon requires no key.
    return {}
  }
}

/** Finds an element of the page's frame. */
export function find(selector: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(selector)
  if (!element) throw new Error(`the page has no ${selector}`)
  return element
}
