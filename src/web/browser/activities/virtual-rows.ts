import { make } from '../dom.ts'

/** Rows drawn above and below the screen, so that Tab and a slow scroll always find the next one. */
const SPARE_ROWS = 12
/** A row's height before one has been measured, px. */
const GUESSED_PX = 45

export type VirtualRows = {
  /** Draws the rows on the screen again: `count` has changed, or what `draw` returns. */
  update(count: number): void
  /** the index of the first and the last row on the screen */
  shown(): { first: number; last: number }
}

/**
 * Keeps only the rows near the screen in `body`, between two spacers of the height of all the others, so that the page
 * scrolls as if it held thousands. All rows must be equally high. `draw` makes a row; a row that has the focus stays.
 */
export function makeVirtualRows(
  body: HTMLElement,
  draw: (index: number) => HTMLTableRowElement,
  onScroll: () => void,
): VirtualRows {
  const above = makeSpacer()
  const below = makeSpacer()
  body.append(above, below)
  let drawn = new Map<number, HTMLTableRowElement>()
  let count = 0
  let height = GUESSED_PX

  const shown = () => {
    const top = -body.getBoundingClientRect().top
    const first = Math.max(0, Math.min(Math.floor(top / height), count - 1))
    return { first, last: Math.min(count - 1, Math.ceil((top + innerHeight) / height)) }
  }
  const place = (anew = false) => {
    const { first, last } = shown()
    const from = Math.max(0, first - SPARE_ROWS)
    const to = Math.min(count - 1, last + SPARE_ROWS)
    const kept = new Map<number, HTMLTableRowElement>()
    for (let index = from; index <= to; index++)
      kept.set(index, (anew ? undefined : drawn.get(index)) ?? draw(index))
    // Nothing is measured from here to the spacers: a page that is shorter for a moment would scroll up from its end.
    for (const [index, row] of drawn) if (kept.get(index) !== row) row.remove()
    drawn = kept
    let before: Element = above
    for (const row of kept.values()) {
      if (before.nextElementSibling !== row) before.after(row)
      before = row
    }
    setHeight(above, from * height)
    setHeight(below, Math.max(0, count - 1 - to) * height)
    const measured = kept.values().next().value?.getBoundingClientRect().height ?? 0
    // All but a fraction of a pixel: a browser's zoom rounds.
    if (measured > 0 && Math.abs(measured - height) > 0.5) {
      height = measured
      place()
    }
  }
  let waiting = false
  const soon = () => {
    if (waiting) return
    waiting = true
    requestAnimationFrame(() => {
      waiting = false
      place()
      onScroll()
    })
  }
  addEventListener('scroll', soon, { passive: true })
  addEventListener('resize', soon)
  listenToArrows(body, onArrow)

  function onArrow(row: Element | null, step: number): void {
    const from = [...drawn].find(([, element]) => element === row)?.[0]
    if (from === undefined) return
    // Keys may come faster than frames, each of which draws the rows that were scrolled to.
    if (!drawn.has(from + step)) place()
    const next = drawn.get(from + step)
    const link = next?.querySelector<HTMLElement>('a')
    link?.focus({ preventScroll: true })
    next?.scrollIntoView({ block: 'nearest' })
  }

  return {
    shown,
    update(total) {
      const focused = document.activeElement
      const selector = focused && body.contains(focused) ? focused.getAttribute('href') : null
      count = total
      place(true)
      if (selector) body.querySelector<HTMLElement>(`[href="${selector}"]`)?.focus({ preventScroll: true })
    },
  }
}

/** The arrow keys move from the link of one row to that of the next. */
function listenToArrows(body: HTMLElement, onArrow: (row: Element | null, step: number) => void): void {
  body.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 || !(event.target instanceof HTMLAnchorElement) || event.altKey) return
    event.preventDefault()
    onArrow(event.target.closest('tr'), step)
  })
}

function makeSpacer(): HTMLTableRowElement {
  return make('tr', { class: 'spacer', 'aria-hidden': 'true' })
}

function setHeight(spacer: HTMLElement, px: number): void {
  spacer.style.height = `${px}px`
  spacer.hidden = px <= 0
}
