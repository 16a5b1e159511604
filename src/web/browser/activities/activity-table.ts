import { type Child, make, makeBadge } from '../dom.ts'
import { formatDistance, formatNumber, formatStopwatch, formatWallClock } from '../format.ts'
import { type ListState, orderOf } from './address.ts'
import type { Line } from './list-pages.ts'

type Column = { title: string; sort?: string; number?: boolean; kind: string; cell: (line: Line) => Child }

const COLUMNS: readonly Column[] = [
  { title: 'Activity', sort: 'name', kind: 'name', cell: makeName },
  {
    title: 'Started',
    sort: 'started',
    kind: 'start',
    cell: (line) => formatWallClock(line.started_at_local),
  },
  { title: 'Type', kind: 'type', cell: (line) => line.activity_type },
  {
    title: 'Time',
    sort: 'time',
    number: true,
    kind: 'time',
    cell: (line) => formatStopwatch(line.elapsed_s),
  },
  {
    title: 'Distance',
    sort: 'distance',
    number: true,
    kind: 'distance',
    cell: (line) => formatDistance(line.distance_km),
  },
  {
    title: 'Power',
    sort: 'power',
    number: true,
    kind: 'power',
    cell: (line) => formatNumber(line.avg_power, 'W'),
  },
  { title: 'XSS', sort: 'xss', number: true, kind: 'xss', cell: (line) => formatNumber(line.xss) },
]

/** The columns by which a list is sorted, for a choice where there is no table head. */
export const SORTS: ReadonlyArray<[value: string, text: string]> = COLUMNS.flatMap(({ sort, title }) =>
  sort ? [[sort, title]] : [],
)

/** Makes the head of the list; the title of a column sorts by it. */
export function makeHead(state: ListState, several: boolean, onSort: (sort: string) => void): HTMLElement {
  const now = orderOf(state)
  const cells = columnsOf(several).map(({ title, sort, number, kind }) => {
    const sorted = sort === now.sort
    const button = sort && make('button', { type: 'button', id: `sort-${sort}` }, title)
    if (sort && button) {
      button.append(make('span', { 'aria-hidden': 'true' }, sorted ? (now.descending ? ' ↓' : ' ↑') : ''))
      button.addEventListener('click', () => onSort(sort))
    }
    return make(
      'th',
      {
        role: 'columnheader',
        scope: 'col',
        class: `${kind}${number ? ' n' : ''}`,
        'aria-sort': sorted && (now.descending ? 'descending' : 'ascending'),
      },
      button || title,
    )
  })
  return make('tr', { role: 'row', 'aria-rowindex': 1 }, ...cells)
}

/** Makes a row of the list; an empty one of the same height while its line is not here yet. */
export function makeRow(line: Line | undefined, index: number, several: boolean): HTMLTableRowElement {
  const cells = columnsOf(several).map(({ title, number, kind, cell }) => {
    const content = line ? cell(line) : kind === 'name' ? '…' : ''
    const attributes = { 'data-title': title, class: `${kind}${number ? ' n' : ''}` }
    return kind === 'name'
      ? make('th', { ...attributes, role: 'rowheader', scope: 'row' }, content)
      : make('td', { ...attributes, role: 'cell' }, content)
  })
  return make(
    'tr',
    {
      role: 'row',
      // The head is the first row.
      'aria-rowindex': index + 2,
      class: line ? (line.absent ? 'absent' : undefined) : 'pending',
    },
    ...cells,
  )
}

function columnsOf(several: boolean): readonly Column[] {
  return several ? [...COLUMNS, { title: 'Account', kind: 'account', cell: (line) => line.account }] : COLUMNS
}

function makeName(line: Line): HTMLElement {
  const name = line.name || 'without a name'
  const description = line.description?.replace(/\s+/g, ' ').trim()
  return make(
    'span',
    { class: 'line' },
    make('a', { href: `/activities/${line.activity_id}`, title: name }, name),
    badgeOf(line),
    description ? make('span', { class: 'aside', title: description }, description) : null,
  )
}

function badgeOf({ detail_state: state, breakthrough, absent }: Line): Child {
  if (absent) return makeBadge('no longer listed', 'plain')
  if (state === 'wanted') return makeBadge('to be fetched', 'busy')
  if (state === 'awaiting_samples') return makeBadge('awaits its samples', 'busy')
  if (state === 'failed') return makeBadge('failed', 'bad')
  return (breakthrough ?? 0) > 0 ? makeBadge('breakthrough', 'good') : null
}
