import type { ComponentChildren } from 'preact'
import { Details } from './parts.tsx'

export type Column<Row> = {
  title: string
  /** whether cells are aligned to the right, for numbers */
  number?: boolean
  /** the member that identifies a row; this column's cell is the row's header */
  names?: keyof Row & string
  /** as wide as two cells on a card */
  wide?: boolean
  /** stays on one line */
  whole?: boolean
  /** the column is left out on a narrow screen, in a table with `narrow` */
  spare?: boolean
  cell: (row: Row) => ComponentChildren
}

type Props<Row> = {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** keeps the table's rows on a narrow screen, where the rows of other tables become cards */
  narrow?: boolean
  /** hides the table until a person opens it, under this title */
  folded?: boolean | string
}

/** A table. On a narrow screen, CSS turns rows into cards, which removes the implicit ARIA roles, so the roles are explicit. */
export function Table<Row>({ caption, columns, rows, narrow, folded = false }: Props<Row>) {
  const key = columns.find(({ names }) => names)?.names
  const table = (
    <table role="table" class={narrow ? 'rows' : 'as-cards'}>
      <caption class="quiet">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, number, spare }) => (
            <th key={title} role="columnheader" scope="col" class={join(number && 'n', spare && 'spare')}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={key && row[key]} role="row">
            {columns.map((column) => (
              <Cell key={column.title} column={column} row={row} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
  if (folded === false) return table
  return <Details title={folded === true ? 'As a table' : folded}>{table}</Details>
}

const join = (...classes: ReadonlyArray<string | false | undefined>) => classes.filter(Boolean).join(' ')

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const { title, names, number, wide, whole, spare } = column
  const content = column.cell(row)
  const empty = content === null || content === undefined || content === false || content === ''
  const classes = join(number && 'n', wide && 'wide', whole && 'whole', spare && 'spare', empty && 'empty')
  return names ? (
    <th role="rowheader" scope="row" data-title={title} class={classes}>
      {content}
    </th>
  ) : (
    <td role="cell" data-title={title} class={classes}>
      {content}
    </td>
  )
}

/** Makes a column of numbers. */
export const numberOf = <Row,>(title: string, cell: Column<Row>['cell']): Column<Row> => ({
  title,
  number: true,
  cell,
})

/** Adds a column of accounts if there are several. */
export function withAccount<Row extends { account: string | null }>(
  columns: readonly Column<Row>[],
  several: boolean,
): readonly Column<Row>[] {
  return several ? [...columns, { title: 'Account', wide: true, cell: (row) => row.account }] : columns
}
