/** The path prefix of all pages, which the daemon writes into each page; empty if the dashboard is at the root of its host. */
export const ROOT = document.documentElement.dataset.root ?? ''

/** Returns the headers for this page's requests: the session key, which the login page stored in the browser. */
export function sessionHeaders(): Record<string, string> {
  try {
    const key = localStorage.getItem(`musette-key ${ROOT}`)
    return key === null ? {} : { 'x-musette-key': key }
  } catch {
    // A browser may forbid storage. Without a token the daemon requires no session key.
    return {}
  }
}

/** Finds an element that every page has. Throws if there is none. */
export function find(selector: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(selector)
  if (!element) throw new Error(`the page has no ${selector}`)
  return element
}
