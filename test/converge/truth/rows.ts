import type { RunDatabase } from '../world/database.ts'

export type ActivityRow = Record<string, unknown> & {
  activity_id: number
  path: string
  absent_since: Date | null
  summary: Record<string, unknown> | null
}
type OfActivity = Record<string, unknown> & { activity_id: number }
type SampleRow = OfActivity & { t: Date }
type CurveRow = OfActivity & { duration_s: number; watts: number }
type ExtraRow = OfActivity & {
  field: string
  values: Array<number | null>
  others: Record<number, unknown> | null
}
type DocumentRow = OfActivity & { sha256: string; encoding: string; body: Buffer }
type RevisionRow = OfActivity & { changes: Record<string, [unknown, unknown]> }

/** Every table that the mirror of the activities writes; those of one activity by its `activity_id`. */
export type Tables = {
  activities: ActivityRow[]
  samples: Map<number, SampleRow[]>
  curves: Map<number, CurveRow[]>
  extras: Map<number, ExtraRow[]>
  documents: Map<number, DocumentRow[]>
  revisions: Map<number, RevisionRow[]>
}

export async function findTables(database: RunDatabase): Promise<Tables> {
  const all = <Row extends Record<string, unknown>>(from: string) =>
    database.rows<Row>(`select * from training.${from}`)
  return {
    activities: await all<ActivityRow>('activities order by path'),
    samples: byActivity(await all<SampleRow>('samples order by activity_id, t')),
    curves: byActivity(await all<CurveRow>('power_curves order by activity_id, duration_s')),
    extras: byActivity(await all<ExtraRow>('sample_extras order by activity_id, field')),
    documents: byActivity(await all<DocumentRow>('raw_documents')),
    // In the order of their transactions: connections fill different pages, and no clock here can be relied on.
    revisions: byActivity(
      await all<RevisionRow>('activity_revisions order by activity_id, xmin::text::bigint, ctid'),
    ),
  }
}

function byActivity<Row extends OfActivity>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.activity_id)
    if (group) group.push(row)
    else groups.set(row.activity_id, [row])
  }
  return groups
}
