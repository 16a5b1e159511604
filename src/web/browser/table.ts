import { type Child, make } from './dom.ts'

export type Column<Row> = {
  title: string
  /** numbers stand to the right */
  number?: boolean
  /** the cell that names its row */
  names?: boolean
  /** takes the room of two on a card */
  wide?: boolean
  cell: (row: Row) => Child
}

/** Makes a table. On a narrow screen its style makes every row a card and takes the roles away, so they are set here. */
export function makeTable<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]) {
  const head = columns.map((column) =>
    make('th', { role: 'columnheader', scope: 'col', class: column.number && 'n' }, column.title),
  )
  return make(
    'table',
    { role: 'table' },
    make('caption', { class: 'quiet' }, caption),
    make('thead', { role: 'rowgroup' }, make('tr', { role: 'row' }, ...head)),
    make('tbody', { role: 'rowgroup' }, ...rows.map((row) => makeRow(columns, row))),
  )
}

/** Makes a section of a page with its heading. */
export function makeSection(id: string, title: string, ...children: readonly Child[]): HTMLElement {
  return make('section', { 'aria-labelledby': id }, make('h2', { id }, title), ...children)
}

/** Hides a table until it is opened. */
export function makeDetails(table: HTMLElement): HTMLElement {
  return make('details', {}, make('summary', {}, 'As a table'), table)
}

function makeRow<Row>(columns: readonly Column<Row>[], row: Row): HTMLTableRowElement {
  const cells = columns.map((column) => {
    const content = column.cell(row)
    const empty = content === null || content === undefined || content === false || content === ''
    const classes = [column.number && 'n', column.wide && 'wide', empty && 'empty'].filter(Boolean).join(' ')
    return column.names
      ? make('th', { role: 'rowheader', scope: 'row', 'data-title': column.title, class: classes }, content)
      : make('td', { role: 'cell', 'data-title': column.title, class: classes }, content)
  })
  return make('tr', { role: 'row' }, ...cells)
}

/** Adds a column of accounts where there are several. */
export function withAccount<Row extends { account: string | null }>(
  columns: readonly Column<Row>[],
  several: boolean,
): readonly Column<Row>[] {
  return several ? [...columns, { title: 'Account', cell: (row) => row.account }] : columns
}
