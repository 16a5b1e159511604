import {
  observeWindowOffset,
  observeWindowRect,
  type VirtualItem,
  Virtualizer,
  type VirtualizerOptions,
  windowScroll,
} from '@tanstack/virtual-core'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { ListState } from './address.ts'
import type { ListPages } from './list-pages.tsx'
import { Head, Row } from './rows.tsx'

/** Number of rows rendered above and below the screen, so that Tab and slow scrolling reach the next row. */
const SPARE_ROWS = 12
/** The assumed height of a row before it is measured, px. */
const GUESSED_PX = 45

type Props = {
  state: ListState
  pages: ListPages
  total: number
  several: boolean
  onSort: (sort: string) => void
  /** Called with the range of visible rows whenever it may have changed. */
  onRows: (rows: { first: number; last: number }) => void
}

/**
 * The list of activities. The page contains only the rows near the screen; two spacer rows fill the height of the others, so that the list
 * scrolls as a whole. All rows have the same height.
 */
export function List({ state, pages, total, several, onSort, onRows }: Props) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [height, setHeight] = useState(GUESSED_PX)
  const margin = body.current ? body.current.getBoundingClientRect().top + scrollY : 0
  const rows = useVirtualRows({ count: total, height, margin })
  const onArrow = useArrows(body, rows, total)
  const items = rows.getVirtualItems()
  const onScreen = rows.range ?? { startIndex: 0, endIndex: 0 }
  useEffect(() => {
    onRows({ first: onScreen.startIndex, last: onScreen.endIndex })
  }, [onScreen.startIndex, onScreen.endIndex, pages, total])
  useLayoutEffect(() => {
    const measured = body.current?.querySelector('tr:not(.spacer)')?.getBoundingClientRect().height ?? 0
    // Ignores fractions of a pixel, because a browser's zoom rounds.
    if (measured > 0 && Math.abs(measured - height) > 0.5) setHeight(measured)
  })
  const first = items[0]
  const last = items.at(-1)
  return (
    <table role="table" class="activities" aria-rowcount={total + 1} hidden={total === 0}>
      <caption class="hidden">Activities, each in its local time</caption>
      <Head state={state} several={several} onSort={onSort} />
      <tbody role="rowgroup" ref={body} onKeyDown={onArrow}>
        <Spacer px={first ? first.start - margin : 0} />
        {items.map(({ index }: VirtualItem) => {
          const line = pages.lineAt(index)
          return <Row key={line?.activity_id ?? `row ${index}`} line={line} index={index} several={several} />
        })}
        <Spacer px={rows.getTotalSize() - (last ? last.end - margin : 0)} />
      </tbody>
    </table>
  )
}

function Spacer({ px }: { px: number }) {
  return <tr class="spacer" aria-hidden="true" hidden={px <= 0} style={{ height: `${px}px` }} />
}

/** Returns the rows near the screen, and redraws when they change. */
function useVirtualRows(input: { count: number; height: number; margin: number }) {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const options: VirtualizerOptions<Window, Element> = {
    count: input.count,
    estimateSize: () => input.height,
    overscan: SPARE_ROWS,
    scrollMargin: input.margin,
    getScrollElement: () => window,
    initialOffset: () => scrollY,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    onChange: () => redraw(undefined),
  }
  const [rows] = useState(() => new Virtualizer<Window, Element>(options))
  rows.setOptions(options)
  useLayoutEffect(() => rows._didMount(), [])
  useLayoutEffect(() => rows._willUpdate())
  useLayoutEffect(() => rows.measure(), [input.height])
  return rows
}

/** Moves the focus between the links of rows with the arrow keys, even if keys come faster than rows are drawn. */
function useArrows(body: RefObject<HTMLElement | null>, rows: Virtualizer<Window, Element>, count: number) {
  const wanted = useRef<number | undefined>(undefined)
  const focus = () => {
    if (wanted.current === undefined) return
    // Row 1 is the header.
    const row = body.current?.querySelector(`[aria-rowindex="${wanted.current + 2}"]`)
    const link = row?.querySelector<HTMLElement>('a')
    if (!link) return rows.scrollToIndex(wanted.current)
    link.focus({ preventScroll: true })
    row?.scrollIntoView({ block: 'nearest' })
    wanted.current = undefined
  }
  useLayoutEffect(focus)
  return (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 || !(event.target instanceof HTMLAnchorElement) || event.altKey) return
    event.preventDefault()
    const at = wanted.current ?? Number(event.target.closest('tr')?.ariaRowIndex) - 2
    wanted.current = Math.min(Math.max(at + step, 0), count - 1)
    focus()
  }
}
