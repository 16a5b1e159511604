import { and, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm'
import { errorCode, errorLine, isAbort } from '../../kit/errors.ts'
import { ofAccount } from './account-rows.ts'
import { cleanNullable } from './clean.ts'
import { syncCursors, syncRuns } from './schema/index.ts'
import type { Store, Tx } from './store.ts'

type SyncRun = Readonly<typeof syncRuns.$inferSelect>

/** What a run counts while it works; the row in `sync_runs` is written from it. */
export type RunTally = {
  listed: number
  changed: number
  fetched: number
  absent: number
  failed: number
  /** the size of the file that a backup wrote */
  bytes?: number
  /** why some items failed */
  errorCode?: string
  error?: string
}

type NewRun = { accountId: number | null; resource: string; kind: string }

/**
 * Runs one unit of work with a row in `sync_runs`: written when it starts, and completed with the counts and the outcome
 * when it ends, also when it throws. A row that stays at `running` means that the process died.
 */
export async function withRun<T>(
  store: Store,
  input: NewRun,
  work: (tally: RunTally) => Promise<T>,
): Promise<T> {
  const tally: RunTally = { listed: 0, changed: 0, fetched: 0, absent: 0, failed: 0 }
  if (store.isOnlyRead()) return work(tally)
  const runId = await store.transaction((tx) => recordRunStarted(tx, input))
  const finish = (end: RunEnd) =>
    store.transaction((tx) => recordRunFinished(tx, runId, { ...tally, ...end }))
  const result = await work(tally).catch(async (error: unknown) => {
    // The work's error is the one to report. When the database is unreachable too, the row stays `running` until a later
    // start marks it abandoned.
    const code = isAbort(error) ? 'aborted' : errorCode(error)
    await finish({ outcome: 'failed', errorCode: code, error: errorLine(error) }).catch(() => undefined)
    throw error
  })
  await finish({ outcome: tally.failed > 0 ? 'partial' : 'done' })
  return result
}

/** Records that a run has begun and returns its `run_id`. */
export async function recordRunStarted(tx: Tx, input: NewRun): Promise<number> {
  const [row] = await tx.db.insert(syncRuns).values(input).returning({ runId: syncRuns.runId })
  if (!row) throw new Error('an insert returns its row')
  return row.runId
}

type RunEnd = { outcome: 'done' | 'failed' | 'partial'; errorCode?: string; error?: string }

/** Records how a run ended. */
export async function recordRunFinished(
  tx: Tx,
  runId: number,
  { error, ...result }: RunEnd & Partial<RunTally>,
): Promise<void> {
  await tx.db
    .update(syncRuns)
    .set({ ...result, error: cleanNullable(error ?? null), finishedAt: sql`clock_timestamp()` })
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
  const abandoned = { outcome: 'abandoned' as const, finishedAt: sql`clock_timestamp()` }
  const { rowCount } = await tx.db
    .update(syncRuns)
    .set(abandoned)
    .where(and(...rules))
  return rowCount ?? 0
}

/** Finds the latest runs, newest first. */
export async function findRecentRuns(tx: Tx, { limit }: { limit: number }): Promise<SyncRun[]> {
  return await tx.db
    .select()
    .from(syncRuns)
    .orderBy(desc(syncRuns.startedAt), desc(syncRuns.runId))
    .limit(limit)
}

/** Finds the first run that failed with this code since the last successful run of the resource; undefined when none did. */
export async function findFailingSince(
  tx: Tx,
  input: { accountId: number; resource: string; errorCode: string },
): Promise<Date | undefined> {
  const { rows } = await tx.client.query<{ since: Date | null }>(
    `select min(started_at) as since from training.sync_runs
     where account_id = $1 and resource = $2 and error_code = $3 and started_at > coalesce(
       (select max(started_at) from training.sync_runs
        where account_id = $1 and resource = $2 and outcome in ('done', 'partial')), '-infinity')`,
    [input.accountId, input.resource, input.errorCode],
  )
  return rows[0]?.since ?? undefined
}

/** How long runs that ended well and changed nothing are kept, days. */
export const QUIET_KEPT_DAYS = 90
/** How long all other runs are kept, days. */
const OTHERS_KEPT_DAYS = 400
/** Runs that one statement deletes at most, so that it holds no lock for long. */
const PRUNED_AT_ONCE = 10_000

// The newest of each kind tells when something last succeeded, or failed and why, however long ago that was.
const PRUNE = `
  DELETE FROM training.sync_runs WHERE run_id IN (
    SELECT run_id FROM (
      SELECT run_id, started_at, outcome,
        coalesce(changed, 0) + coalesce(fetched, 0) + coalesce(absent, 0) + coalesce(failed, 0) = 0 AS unchanged,
        row_number() OVER (PARTITION BY account_id, resource, kind, outcome, error_code ORDER BY started_at DESC, run_id DESC) AS place
      FROM training.sync_runs WHERE account_id = $1 OR account_id IS NULL) ranked
    WHERE place > 1 AND outcome <> 'running' AND started_at < now() -
      CASE WHEN outcome = 'done' AND unchanged THEN interval '${QUIET_KEPT_DAYS} days' ELSE interval '${OTHERS_KEPT_DAYS} days' END
    ORDER BY run_id LIMIT $2)`

/**
 * Deletes old runs of an account, and those that belong to none: after 90 days those that ended well and changed nothing, after
 * 400 days the others. The newest run of each account, resource, kind, outcome and error code stays, so that no answer to "when did
 * this last succeed, or fail?" is lost. Returns how many; `limit` of them at most, and the next call deletes more.
 */
export async function pruneRuns(
  tx: Tx,
  { accountId, limit = PRUNED_AT_ONCE }: { accountId: number; limit?: number },
): Promise<number> {
  return (await tx.client.query(PRUNE, [accountId, limit])).rowCount ?? 0
}

/** When scheduled work on the whole database was last done, and how its newest run that has ended ended. */
type WholeWorkState = {
  doneAt: Date | null
  /** how long the last one that was done took */
  seconds: number | null
  outcome: string | null
  error: string | null
  errorCode: string | null
}

/** Finds the state of scheduled work on the whole database, by the resource of its runs; runs by hand do not count. */
export async function findWholeWorkState(tx: Tx, resource: string): Promise<WholeWorkState> {
  const { rows } = await tx.client.query<WholeWorkState>(
    `with ended as not materialized (
       select started_at, finished_at, outcome, error, error_code from training.sync_runs
       where account_id is null and resource = $1 and kind = 'schedule' and outcome <> 'running'
         and error_code is distinct from 'aborted')
     select good.finished_at as "doneAt", extract(epoch from good.finished_at - good.started_at)::float8 as seconds,
       newest.outcome, newest.error, newest.error_code as "errorCode"
     from (select) one
     left join lateral (select * from ended where outcome = 'done' order by started_at desc limit 1) good on true
     left join lateral (select * from ended order by started_at desc limit 1) newest on true`,
    [resource],
  )
  return rows[0] ?? { doneAt: null, seconds: null, outcome: null, error: null, errorCode: null }
}

/** Counts, for each account that has some, or for one, the activities that scheduled comparisons of the last day could not compare. */
export async function findUncompared(tx: Tx, now: Date, accountId?: number) {
  const { rows } = await tx.client.query<{ account: string; failed: number }>(
    `select a.name as account, sum(r.failed)::int as failed
     from training.sync_runs r join training.accounts a using (account_id)
     where r.resource = 'scrub' and r.started_at > $1::timestamptz - interval '1 day' and r.failed > 0 and ${ofAccount(accountId)}
     group by a.account_id order by a.account_id`,
    [now],
  )
  return rows
}

/** Runs of one kind by outcome and error code, and how long they took, ms: half of them and nine in ten at most. */
export type RunCount = {
  resource: string
  kind: string
  outcome: string
  error_code: string | null
  runs: number
  median_ms: number | null
  p90_ms: number | null
}

/** Counts the runs of an account in the last 90 days, without their sentences. */
export async function findRunCounts(tx: Tx, accountId: number): Promise<RunCount[]> {
  const took = 'extract(epoch from finished_at - started_at) * 1000'
  const { rows } = await tx.client.query<RunCount>(
    `select resource, kind, outcome, error_code, count(*)::int as runs,
       round(percentile_cont(0.5) within group (order by ${took}))::float8 as median_ms,
       round(percentile_cont(0.9) within group (order by ${took}))::float8 as p90_ms
     from training.sync_runs where account_id = $1 and started_at > now() - interval '90 days'
     group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [accountId],
  )
  return rows
}

/** Counts, for an account `a`, the activities that scheduled comparisons of the last 30 days found different. */
export const FOUND_DIFFERENT = `select coalesce(sum(changed), 0)::int as differed from training.sync_runs
  where account_id = a.account_id and resource = 'scrub' and started_at > now() - interval '30 days'`

/** Finds, for an account `a`, when the list of activities was last polled to its end. */
export const POLLED_AT = `select finished_at as polled_at from training.sync_runs
  where account_id = a.account_id and resource = 'activities' and kind in ('poll', 'backfill')
    and outcome in ('done', 'partial') order by started_at desc limit 1`

/** Finds, for an account `a`, the newest run of the activity list. */
export const LAST_RUN = `select jsonb_build_object('kind', kind, 'outcome', outcome, 'started_at', started_at, 'error', error) as last_run
  from training.sync_runs where account_id = a.account_id and resource = 'activities' order by started_at desc, run_id desc limit 1`

type CursorKey = { accountId: number; resource: string }
/** `advancedAt` and `readAt` (the time of the query) are by the database's clock, `updatedFrom` is by the service's. */
export type Cursor = Readonly<{ updatedFrom: Date; advancedAt: Date; readAt: Date }>
/** `cursor` is undefined before the first pass; `listCap` is the longest list that the service sends, null when no limit is known. */
export type ListProgress = Readonly<{ cursor: Cursor | undefined; listCap: number | null }>

/** Finds how far the list of a resource is mirrored. */
export async function findProgress(tx: Tx, { accountId, resource }: CursorKey): Promise<ListProgress> {
  const [row] = await tx.db
    .select({
      ...getTableColumns(syncCursors),
      readAt: sql`clock_timestamp()`.mapWith(syncCursors.advancedAt),
    })
    .from(syncCursors)
    .where(and(eq(syncCursors.accountId, accountId), eq(syncCursors.resource, resource)))
  const { updatedFrom, advancedAt, readAt, listCap } = row ?? {}
  const cursor = readAt && updatedFrom && { updatedFrom, advancedAt: advancedAt ?? readAt, readAt }
  return { cursor: cursor ?? undefined, listCap: listCap ?? null }
}

/** Finds the cursor of a resource; undefined before the first pass. */
export async function findCursor(tx: Tx, key: CursorKey): Promise<Cursor | undefined> {
  return (await findProgress(tx, key)).cursor
}

/** Moves a resource's cursor to `updatedFrom`, by the service's clock, also backwards: too early it lists again, too late it would lose. */
export async function recordCursor(tx: Tx, input: CursorKey & { updatedFrom: Date }): Promise<void> {
  await tx.db
    .insert(syncCursors)
    .values({ ...input, advancedAt: sql`clock_timestamp()` })
    .onConflictDoUpdate({
      target: [syncCursors.accountId, syncCursors.resource],
      set: {
        updatedFrom: sql`excluded.updated_from`,
        advancedAt: sql`excluded.advanced_at`,
      },
    })
}

/** Records that the whole list was compared with its windows, and the longest list that the service sends (null: no limit). */
export async function recordListCap(tx: Tx, input: CursorKey & { listCap: number | null; checkedAt: Date }) {
  const { accountId, resource, listCap, checkedAt } = input
  await tx.db
    .insert(syncCursors)
    .values({ accountId, resource, listCap, listCheckedAt: checkedAt })
    .onConflictDoUpdate({
      target: [syncCursors.accountId, syncCursors.resource],
      set: { listCap, listCheckedAt: checkedAt },
    })
}
