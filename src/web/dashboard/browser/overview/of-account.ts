import type { Column } from '../table.ts'

/** Tells the account in each row where there are several. */
export function withAccount<Row extends { account: string | null }>(
  columns: readonly Column<Row>[],
  several: boolean,
): readonly Column<Row>[] {
  return several ? [...columns, { title: 'Account', cell: (row) => row.account }] : columns
}
