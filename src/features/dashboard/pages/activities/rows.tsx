import type { ComponentChildren } from 'preact'
import {
  formatDistance,
  formatNumber,
  formatStopwatch,
  formatWallClock,
  nameOr,
} from '../../shared/format.ts'
import { ActivityBadge, Badge, Link } from '../../shared/parts.tsx'
import { type ListState, orderOf } from './address.ts'
import type { Line } from './list-pages.tsx'

type Column = {
  title: string
  sort?: string
  number?: boolean
  kind: string
  cell: (line: Line) => ComponentChildren
}

const number = true
const COLUMNS: readonly Column[] = [
  { title: 'Activity', sort: 'name', kind: 'name', cell: (line) => <Name line={line} /> },
  {
    title: 'Started',
    sort: 'started',
    kind: 'start',
    cell: (line) => formatWallClock(line.started_at_local),
  },
  { title: 'Type', kind: 'type', cell: (line) => line.activity_type },
  { title: 'Time', sort: 'time', number, kind: 'time', cell: (line) => formatStopwatch(line.elapsed_s) },
  {
    title: 'Distance',
    sort: 'distance',
    number,
    kind: 'distance',
    cell: (line) => formatDistance(line.distance_km),
  },
  { title: 'Power', sort: 'power', number, kind: 'power', cell: (line) => formatNumber(line.avg_power, 'W') },
  { title: 'XSS', sort: 'xss', number, kind: 'xss', cell: (line) => formatNumber(line.xss) },
]

/** The sort columns, for screens on which the table has no header. */
export const SORTS: ReadonlyArray<[value: string, text: string]> = COLUMNS.flatMap(({ sort, title }) =>
  sort ? [[sort, title]] : [],
)

function columnsOf(several: boolean): readonly Column[] {
  return several ? [...COLUMNS, { title: 'Account', kind: 'account', cell: (line) => line.account }] : COLUMNS
}

type HeadProps = { state: ListState; several: boolean; onSort: (sort: string) => void }

/** The header of the list; a click on a column's title sorts by the column. */
export function Head({ state, several, onSort }: HeadProps) {
  const { sort: by, descending } = orderOf(state)
  return (
    <thead role="rowgroup">
      <tr role="row" aria-rowindex={1}>
        {columnsOf(several).map(({ title, sort, number, kind }) => (
          <th
            key={kind}
            role="columnheader"
            scope="col"
            class={number ? `${kind} n` : kind}
            aria-sort={sort === by ? (descending ? 'descending' : 'ascending') : undefined}
          >
            {sort ? (
              <button type="button" onClick={() => onSort(sort)}>
                {title}
                <span aria-hidden="true">{sort === by ? (descending ? ' ↓' : ' ↑') : ''}</span>
              </button>
            ) : (
              title
            )}
          </th>
        ))}
      </tr>
    </thead>
  )
}

/** A row of the list. Until its data are fetched, the row is empty and has the same height. */
export function Row({ line, index, several }: { line: Line | undefined; index: number; several: boolean }) {
  return (
    // Row 1 is the header.
    <tr role="row" aria-rowindex={index + 2} class={line ? (line.absent ? 'absent' : undefined) : 'pending'}>
      {columnsOf(several).map(({ number, kind, cell }) => {
        const content = line && cell(line)
        // The tooltip shows the whole text.
        const whole = typeof content === 'string' ? content : undefined
        const shared = { key: kind, title: whole, class: number ? `${kind} n` : kind }
        return kind === 'name' ? (
          <th {...shared} role="rowheader" scope="row">
            {line ? content : '…'}
          </th>
        ) : (
          <td {...shared} role="cell">
            {content}
          </td>
        )
      })}
    </tr>
  )
}

function Name({ line }: { line: Line }) {
  const name = nameOr(line.name, 'no name')
  const description = line.description?.replace(/\s+/g, ' ').trim()
  return (
    <span class="line">
      <Link to={`/activities/${line.activity_id}`} title={name}>
        {name}
      </Link>
      {line.absent ? <Badge mood="plain">no longer listed</Badge> : <ActivityBadge {...line} />}
      {description && (
        <span class="aside" title={description}>
          {description}
        </span>
      )}
    </span>
  )
}
