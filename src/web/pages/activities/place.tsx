/** Where one was in a list: the scrolled height in px, the first row on the screen, and the address of the opened activity. */
type Place = { y: number; first: number; activity: string | undefined }

/** A browser allows a hundred changes of its history in half a minute, ms. */
const REST_MS = 250

let current: (() => number) | undefined

/** Keeps in the history of the browser where one is, so that Back returns there. `firstShown` returns the first row on the screen. */
export function keepPlace(firstShown: () => number): void {
  const begun = current !== undefined
  current = firstShown
  if (begun) return
  // The rows are not there yet when a browser would scroll by itself.
  history.scrollRestoration = 'manual'
  let timer: ReturnType<typeof setTimeout> | undefined
  const record = () => {
    const place: Place = { y: scrollY, first: current?.() ?? 0, activity: focusedActivity() }
    history.replaceState(place, '')
  }
  addEventListener('scroll', () => {
    clearTimeout(timer)
    timer = setTimeout(record, REST_MS)
  })
  // Before the page is left: a link is followed sooner than the scrolling rests.
  addEventListener('click', record, { capture: true })
  addEventListener('pagehide', record)
}

/** Parses the place that the history has kept; undefined when the list is opened anew. */
export function placeKept(): Place | undefined {
  const kept: unknown = history.state
  if (typeof kept !== 'object' || kept === null || !('y' in kept) || !('first' in kept)) return undefined
  const activity = 'activity' in kept && typeof kept.activity === 'string' ? kept.activity : undefined
  return { y: Number(kept.y), first: Number(kept.first), activity }
}

function focusedActivity(): string | undefined {
  return document.activeElement?.getAttribute('href')?.match(/^\/activities\/\d+$/)?.[0]
}
