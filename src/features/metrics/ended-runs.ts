import type { Tx } from '../../core/store/store.ts'

/** Where counting runs has come to: all up to `runId` are counted, except the unfinished ones in `open`. */
export type RunsMark = Readonly<{ runId: number; open: readonly number[] }>

export type EndedRun = { resource: string; kind: string; outcome: string; seconds: number }

/** More unfinished runs than this died or were rolled back and never end; the oldest are dropped from the mark. */
const MAX_OPEN = 500

/** Finds the mark of the last run; later ones count as new. */
export async function findRunsMark(tx: Tx): Promise<RunsMark> {
  const { rows } = await tx.client.query<{ run_id: number }>(
    'select coalesce(max(run_id), 0) as run_id from training.sync_runs',
  )
  return { runId: rows[0]?.run_id ?? 0, open: [] }
}

/** Finds the runs of every process that have ended since a mark, and the next mark. It reads only those rows. */
export async function findEndedRuns(tx: Tx, mark: RunsMark): Promise<{ ended: EndedRun[]; mark: RunsMark }> {
  const { rows } = await tx.client.query<EndedRun & { run_id: number }>(
    `select run_id, resource, kind, outcome,
            coalesce(extract(epoch from finished_at - started_at), 0)::float8 as seconds
     from training.sync_runs where run_id > $1 or run_id = any($2::int[]) order by run_id`,
    [mark.runId, mark.open],
  )
  const ended = rows.filter(({ outcome }) => outcome !== 'running')
  const endedIds = new Set(ended.map(({ run_id }) => run_id))
  const runId = Math.max(mark.runId, rows.at(-1)?.run_id ?? 0)
  // A missing number in between belongs to a transaction that has not committed yet.
  const passed = Array.from({ length: runId - mark.runId }, (_, index) => mark.runId + 1 + index)
  const open = [...mark.open, ...passed].filter((id) => !endedIds.has(id)).slice(-MAX_OPEN)
  return { ended, mark: { runId, open } }
}
