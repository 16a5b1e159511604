import { and, desc, eq, lt, type SQL, sql } from 'drizzle-orm'
import { cleanNullable } from './clean.ts'
import { syncRuns } from './schema/index.ts'
import type { Tx } from './store.ts'

export type SyncRun = Readonly<typeof syncRuns.$inferSelect>
export type RunOutcome = 'done' | 'failed' | 'partial'

/** What a run did; a count that means nothing for the resource is null or left out. */
export type RunResult = {
  outcome: RunOutcome
  listed?: number | null
  changed?: number | null
  fetched?: number | null
  absent?: number | null
  failed?: number | null
  errorCode?: string | null
  error?: string | null
}

/** Records that a run has begun and returns its `run_id`. */
export async function recordRunStarted(
  tx: Tx,
  input: { accountId: number | null; resource: string; kind: string },
): Promise<number> {
  const [row] = await tx.db.insert(syncRuns).values(input).returning({ runId: syncRuns.runId })
  if (!row) throw new Error('an insert returns its row')
  return row.runId
}

/** Records how a run ended. */
export async function recordRunFinished(tx: Tx, runId: number, result: RunResult): Promise<void> {
  await tx.db
    .update(syncRuns)
    .set({ ...result, error: cleanNullable(result.error ?? null), finishedAt: sql`clock_timestamp()` })
    .where(eq(syncRuns.runId, runId))
}

/** Marks runs that a crash left `running` as `abandoned`: those begun before `startedBefore`. Returns how many. */
export async function recordRunsAbandoned(
  tx: Tx,
  input: { startedBefore: Date; accountId?: number; resource?: string },
): Promise<number> {
  const rules: SQL[] = [eq(syncRuns.outcome, 'running'), lt(syncRuns.startedAt, input.startedBefore)]
  if (input.accountId !== undefined) rules.push(eq(syncRuns.accountId, input.accountId))
  if (input.resource !== undefined) rules.push(eq(syncRuns.resource, input.resource))
  const rows = await tx.db
    .update(syncRuns)
    .set({ outcome: 'abandoned', finishedAt: sql`clock_timestamp()` })
    .where(and(...rules))
    .returning({ runId: syncRuns.runId })
  return rows.length
}

/** Finds the latest runs, newest first. */
export async function findRecentRuns(
  tx: Tx,
  input: { accountId?: number; resource?: string; limit: number },
): Promise<SyncRun[]> {
  const rules: SQL[] = []
  if (input.accountId !== undefined) rules.push(eq(syncRuns.accountId, input.accountId))
  if (input.resource !== undefined) rules.push(eq(syncRuns.resource, input.resource))
  return await tx.db
    .select()
    .from(syncRuns)
    .where(and(...rules))
    .orderBy(desc(syncRuns.startedAt), desc(syncRuns.runId))
    .limit(input.limit)
}
