import type { CalendarView, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, find, make, makePlace, refill } from '../dom.ts'
import { formatDistance, formatNumber } from '../format.ts'
import { fetchJson, follow, type Problem, showState } from '../live.ts'
import { makeHead, makeRow } from './activity-table.ts'
import { changeState, formatAddress, type ListState, parseAddress, sortBy } from './address.ts'
import { makeCalendar } from './calendar.ts'
import { makeFilters, makeSeasons, makeSetFilters } from './filters.ts'
import { makeListPages, type Page } from './list-pages.ts'
import { keepPlace, placeKept } from './place-kept.ts'
import { makeVirtualRows } from './virtual-rows.ts'

type Calendar = Serialized<CalendarView>

/** New activities come with the polls of the daemon; an upload shows within seconds. */
const POLL_EVERY_MS = 5_000

let state: ListState = parseAddress(location.search)
let pages = makeListPages(state)
let sums: Page | undefined
let calendar: Calendar | undefined
let filters: ReturnType<typeof makeFilters> | undefined

const places = {
  filters: make('div'),
  seasons: make('div'),
  calendar: make('div'),
  set: make('div', { class: 'choice set-filters' }),
  sums: make('p', { class: 'sums', role: 'status' }),
  list: make('div'),
}
const head = make('thead', { role: 'rowgroup' })
const body = make('tbody', { role: 'rowgroup' })
const table = make(
  'table',
  { role: 'table', class: 'activities' },
  make('caption', { class: 'hidden' }, 'Activities, each on its own clock'),
  head,
  body,
)
const several = () => (calendar?.accounts.length ?? 0) > 1
const rows = makeVirtualRows(
  body,
  (index) => makeRow(pages.lineAt(index), index, several()),
  () => void fetchShown(),
)
const drawCalendar = makePlace(places.calendar, (shown: { view: Calendar; day: string | undefined }) =>
  makeCalendar(shown.view, {
    day: shown.day,
    onDay: (day) => change(state.day === day ? { day: '' } : { year: day.slice(0, 4), day }),
  }),
)

const drawFilters = makePlace(places.filters, (facets: Pick<Calendar, 'types' | 'accounts'>) => {
  filters = makeFilters({ ...facets, years: [] }, change)
  return [filters.element]
})

addEventListener('popstate', () => {
  state = parseAddress(location.search)
  void load({ restore: true })
})

await load({ restore: true })
let polled = { pages, first: 0 }
const pollAddress = () => {
  polled = { pages, first: rows.shown().first }
  return pages.addressOf(polled.first)
}
await follow<Page>(pollAddress, {
  everyMs: POLL_EVERY_MS,
  async onData(page) {
    // The answer to what was shown before another choice.
    if (polled.pages !== pages) return undefined
    if (!pages.accept(page, polled.first)) return undefined
    sums = page
    drawSums()
    drawRows()
    // What a filter can choose, and the days, change with the activities only.
    return await loadCalendar()
  },
})

/** Shows another list, at an address of its own. */
function change(changes: ListState, how: { typed: boolean } = { typed: false }): void {
  const next = changeState(state, changes)
  const address = `${location.pathname}${formatAddress(next)}`
  if (formatAddress(next) === formatAddress(state)) return
  if (how.typed && state.search) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  state = next
  void load({ restore: false })
}

/** Fetches and draws what the state says; `restore`: at the place where one was. */
async function load({ restore }: { restore: boolean }): Promise<void> {
  const loading = state
  const wanted = restore ? placeKept() : undefined
  const fetched = makeListPages(loading)
  const [page, problem] = await Promise.all([fetchFirst(fetched, wanted?.first ?? 0), loadCalendar()])
  // A later choice has overtaken this one.
  if (loading !== state) return
  if (problem || 'text' in page) return showState(problem ?? (page as Problem))
  showState(undefined)
  pages = fetched
  sums = page
  if (!places.list.isConnected) {
    places.list.append(table)
    find('#main').replaceChildren(make('h1', {}, 'Activities'), ...Object.values(places))
  }
  drawSums()
  drawRows()
  if (wanted) {
    scrollTo({ top: wanted.y, behavior: 'instant' })
    rows.update(sums.total)
    if (wanted.activity)
      body.querySelector<HTMLElement>(`[href="${wanted.activity}"]`)?.focus({ preventScroll: true })
  }
  keepPlace(() => rows.shown().first)
}

async function fetchFirst(fetched: typeof pages, first: number): Promise<Page | Problem> {
  const answer = await fetchJson<Page>(fetched.addressOf(first))
  if (answer.kind === 'problem') return answer.problem
  if (answer.kind === 'same') return { text: 'The daemon sent nothing.' }
  fetched.accept(answer.data, first)
  return answer.data
}

async function loadCalendar(): Promise<Problem | undefined> {
  const loading = state
  const answer = await fetchJson<Calendar>(`/api/activities/calendar${formatAddress(loading)}`)
  if (loading !== state) return undefined
  if (answer.kind === 'problem') return answer.problem
  if (answer.kind === 'data') {
    calendar = answer.data
    drawChoices(calendar)
  }
  return undefined
}

function drawChoices(view: Calendar): void {
  drawFilters({ types: view.types, accounts: view.accounts })
  filters?.show(state)
  refill(places.seasons, view.years.length > 1 && makeSeasons(view, state, change))
  drawCalendar({ view, day: state.day })
}

function drawRows(): void {
  refill(
    head,
    makeHead(state, several(), (sort) => change({ sort: '', order: '', ...sortBy(state, sort) })),
  )
  table.setAttribute('aria-rowcount', String((sums?.total ?? 0) + 1))
  table.hidden = sums?.total === 0
  rows.update(sums?.total ?? 0)
}

function drawSums(): void {
  if (!sums) return
  const facets = { accounts: calendar?.accounts ?? [], types: [], years: [] }
  refill(places.set, ...makeSetFilters(state, facets, change))
  refill(places.sums, ...makeSums(sums))
}

/** Makes the sentence about the whole list; where it is empty, what to do about it. */
function makeSums(shown: Page): Child[] {
  const { total, absent } = shown
  const isFiltered = formatAddress(changeState(state, { sort: '', order: '' })) !== ''
  const hidden = state.absent || absent === 0 ? null : makeAbsentButton(absent)
  if (total === 0 && !isFiltered && !hidden)
    return [
      'Nothing is mirrored yet. The daemon fetches the activities by itself; to do it now, type: ',
      make('code', {}, 'musette sync'),
    ]
  if (total === 0) return ['No activity fits. ', hidden]
  const words = [
    total === 1 ? '1 activity' : `${formatNumber(total)} activities`,
    formatNumber(shown.elapsed_s / 3_600, 'h', shown.elapsed_s < 36_000 ? 1 : 0),
    shown.distance_km > 0 && formatDistance(shown.distance_km, 0),
    shown.xss > 0 && formatNumber(shown.xss, 'XSS'),
  ]
  return [words.filter(Boolean).join(' · '), hidden && ' ', hidden]
}

function makeAbsentButton(absent: number): HTMLElement {
  const text = absent === 1 ? '1 more is' : `${formatNumber(absent)} more are`
  const button = make(
    'button',
    { type: 'button', id: 'show-absent' },
    `${text} no longer listed by the service: show`,
  )
  button.addEventListener('click', () => change({ absent: 'yes' }))
  return button
}

/** Fetches the rows on the screen that are not here yet, and draws them. */
async function fetchShown(): Promise<void> {
  const now = pages
  const answer = await now.fetchRows(rows.shown())
  if (!answer || now !== pages) return
  if ('text' in answer) return showState(answer)
  const moved = answer.total !== sums?.total
  sums = answer
  if (moved) drawSums()
  drawRows()
}
