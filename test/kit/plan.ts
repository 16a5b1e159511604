/** A node of what EXPLAIN (ANALYZE, FORMAT JSON) says. */
export type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** How many rows a scan looked at, in all its loops, and whether it went through the whole table. */
export type Touched = { table: string; rows: number; whole: boolean }

/** Finds the tables that a plan reads. A scan that never ran is left out. */
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
