/** The position in a list: the scroll height in px, the first visible row, and the address of the opened activity. */
type Place = { y: number; first: number; activity: string | undefined }

/** The interval of saves, ms: a browser allows a hundred history changes in half a minute. */
const REST_MS = 250

let current: (() => number) | undefined

/** Keeps the position in the browser's history, so that Back returns there. `firstShown` returns the first visible row. */
export function keepPlace(firstShown: () => number): void {
  const begun = current !== undefined
  current = firstShown
  if (begun) return
  // The browser would scroll before the rows are there.
  history.scrollRestoration = 'manual'
  let timer: ReturnType<typeof setTimeout> | undefined
  const record = () => {
    const activity = document.activeElement?.getAttribute('href')?.match(/^\/activities\/\d+$/)?.[0]
    const place: Place = { y: scrollY, first: current?.() ?? 0, activity }
    history.replaceState(place, '')
  }
  addEventListener('scroll', () => {
    clearTimeout(timer)
    timer = setTimeout(record, REST_MS)
  })
  // Saves before the page is left, because a link may be followed before scrolling rests.
  addEventListener('click', record, { capture: true })
  addEventListener('pagehide', record)
}

/** Parses the position in the history; undefined when the list is opened anew. */
export function placeKept(): Place | undefined {
  const kept: unknown = history.state
  if (typeof kept !== 'object' || kept === null || !('y' in kept) || !('first' in kept)) return undefined
  const activity = 'activity' in kept && typeof kept.activity === 'string' ? kept.activity : undefined
  return { y: Number(kept.y), first: Number(kept.first), activity }
}
