import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { formatQuery, useAddress } from '../../shared/address-query.tsx'
import { FirstSteps } from '../../shared/first-steps.tsx'
import { describeMissing, formatDistance, formatNumber } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { fetchJson, follow, showState } from '../../shared/live.tsx'
import { type Problem, Waiting } from '../../shared/parts.tsx'
import './activities.css'
import { changeState, KEYS, type ListState, sortBy } from './address.ts'
import { Calendar } from './calendar.tsx'
import { type Facets, Filters, type OnChange, Seasons, SetFilters } from './filters.tsx'
import { List } from './list.tsx'
import { type ListPages, type Page, pagesOfList } from './list-pages.tsx'

/** The content of the page: the list of one state with its sums, and the filters. */
type Shown = { state: ListState; pages: ListPages; sums: Page; calendar: Facets }

/** Poll interval, ms, short so that an upload appears within seconds. */
const POLL_EVERY_MS = 5_000
/** Interval between saves of the scroll position, ms: a browser allows 100 history changes in 30 s. */
const REST_MS = 250

showPage(<Activities />)

function Activities() {
  const [state, setState] = useAddress(KEYS)
  const { shown, onRows } = useList(state)
  if (!shown) return <Waiting />
  /** Shows another list, at its own URL. */
  const change: OnChange = (changes, { typed } = { typed: false }) => {
    const next = changeState(state, changes)
    if (formatQuery(next) !== formatQuery(state)) setState(next, { step: !typed || !state.search })
  }
  const { calendar, sums, pages } = shown
  if (calendar.accounts.length === 0)
    return (
      <>
        <h1>Activities</h1>
        <FirstSteps />
      </>
    )
  const several = calendar.accounts.length > 1
  const onDay = (day: string) => change(state.day === day ? { day: '' } : { year: day.slice(0, 4), day })
  return (
    <>
      <h1>Activities</h1>
      <Filters facets={calendar} state={state} onChange={change} />
      <Seasons facets={calendar} state={state} onChange={change} />
      {calendar.year !== null && (
        <Calendar year={calendar.year} sums={calendar.calendar} chosen={state.day} onDay={onDay} />
      )}
      <SetFilters facets={calendar} state={state} onChange={change} />
      <Sums sums={sums} state={state} onChange={change} />
      <List
        state={shown.state}
        pages={pages}
        total={sums.total}
        several={several}
        onSort={(sort) => change(sortBy(state, sort))}
        onRows={onRows}
      />
    </>
  )
}

/**
 * Fetches the list of a state, visible rows first, and keeps it up to date. The old list stays until the new one arrives; the new list opens
 * at its last position.
 */
function useList(state: ListState) {
  const [shown, setShown] = useState<Shown>()
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const onScreen = useRef({ first: 0, last: 0 })
  const address = formatQuery(state)

  useEffect(() => {
    const left = new AbortController()
    const pages = pagesOfList(state)
    const fetchCalendar = () => fetchJson<Facets>(`/api/activities/calendar${address}`)
    // Fetches the calendar together with the first page.
    let calendar: ReturnType<typeof fetchCalendar> | undefined = fetchCalendar()
    void open()
    return () => left.abort()

    async function open() {
      onScreen.current.first = placeKept()?.first ?? 0
      let polled = 0
      await follow<Page>(
        () => {
          polled = onScreen.current.first
          return pages.addressOf(polled)
        },
        { everyMs: POLL_EVERY_MS, signal: left.signal, onData: (data) => onData(data, polled) },
      )
    }

    async function onData(sums: Page, polled: number): Promise<Problem | undefined> {
      if (!pages.accept(sums, polled)) return undefined
      // Fetch the calendar only if activities have changed, because its filters and days depend only on the activities.
      const answer = await (calendar ?? fetchCalendar())
      calendar = undefined
      if (left.signal.aborted) return undefined
      if (answer.kind === 'problem') return answer.problem
      if (answer.kind === 'data') setShown({ state, pages, sums, calendar: answer.data })
      return undefined
    }
  }, [address])

  useKeptPlace(shown, () => onScreen.current.first)

  /** Fetches the missing rows on the screen. */
  const onRows = async (rows: { first: number; last: number }) => {
    onScreen.current = rows
    const answer = await shown?.pages.fetchRows(rows)
    if (!answer) return
    if ('text' in answer) return showState(answer)
    setShown((now) => (now?.pages === shown?.pages && now ? { ...now, sums: answer } : now))
    redraw(undefined)
  }
  return { shown, onRows }
}

/** The position in a list: the scroll offset, px, the first visible row, and the URL of the opened activity. */
type Place = { y: number; first: number; activity: string | undefined }

/** Returns this list's position from the browser's history; undefined if the list is newly opened. */
function placeKept(): Place | undefined {
  return history.state ?? undefined
}

/**
 * Scrolls a newly shown list to its last position and focuses the activity that was opened from the list. Saves the position in the
 * browser's history, so that Back returns there. `firstShown` returns the first visible row.
 */
function useKeptPlace(shown: Shown | undefined, firstShown: () => number): void {
  useLayoutEffect(() => {
    const place = shown && placeKept()
    if (!place) return
    scrollTo({ top: place.y, behavior: 'instant' })
    if (place.activity)
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>(`[href="${place.activity}"]`)?.focus({ preventScroll: true }),
      )
  }, [shown?.pages])
  useLayoutEffect(() => {
    if (!shown) return
    // The browser's own restoration would scroll before the rows arrive.
    history.scrollRestoration = 'manual'
    let timer: ReturnType<typeof setTimeout> | undefined
    const record = () => {
      const activity = document.activeElement?.getAttribute('href')?.match(/^\/activities\/\d+$/)?.[0]
      const place: Place = { y: scrollY, first: firstShown(), activity }
      history.replaceState(place, '')
    }
    addEventListener('scroll', () => {
      clearTimeout(timer)
      timer = setTimeout(record, REST_MS)
    })
    // Also saves before the page is left, because a person may follow a link while still scrolling.
    addEventListener('click', record, { capture: true })
    addEventListener('pagehide', record)
  }, [!shown])
}

type SumsProps = { sums: Page; state: ListState; onChange: OnChange }

/** The summary of the whole list or, if the list is empty, what to do. */
function Sums({ sums, state, onChange }: SumsProps) {
  const { total, absent } = sums
  const isFiltered = formatQuery(changeState(state, { sort: '', order: '' })) !== ''
  const hidden = !state.absent && absent > 0 && (
    <button type="button" onClick={() => onChange({ absent: 'yes' })}>
      {absent === 1 ? '1 more is' : `${formatNumber(absent)} more are`} no longer listed by the service; show
    </button>
  )
  const words = [
    total === 1 ? '1 activity' : `${formatNumber(total)} activities`,
    formatNumber(sums.elapsed_s / 3_600, 'h', sums.elapsed_s < 36_000 ? 1 : 0),
    sums.distance_km > 0 && formatDistance(sums.distance_km, 0),
    sums.xss > 0 && formatNumber(sums.xss, 'XSS'),
    describeMissing(total, sums.to_fetch),
  ]
  const text = total > 0 ? words.filter(Boolean).join(' · ') : isFiltered || hidden ? 'No activities.' : ''
  return (
    <p class="sums" role="status">
      {text || (
        <>
          Nothing is mirrored yet. The daemon will fetch the activities; to fetch them now, run:{' '}
          <code>musette sync</code>
        </>
      )}{' '}
      {hidden}
    </p>
  )
}
