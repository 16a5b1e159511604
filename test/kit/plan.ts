/** A node in the output of EXPLAIN (ANALYZE, FORMAT JSON). */
export type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** How many rows a scan read in all its loops, and whether it read the whole table. */
export type Touched = { table: string; rows: number; whole: boolean }

/** Finds the tables that a plan reads. Leaves out a scan that never ran. */
export function findTouched(plan: Plan | undefined): Touched[] {
  if (!plan) return []
  const below = (plan.Plans ?? []).flatMap(findTouched)
  const table = plan['Relation Name']
  if (table === undefined || plan['Actual Loops'] === 0) return below
  const seen =
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  return [
    { table, rows: Math.round(seen * plan['Actual Loops']), whole: plan['Node Type'] === 'Seq Scan' },
    ...below,
  ]
}
