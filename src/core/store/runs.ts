import { and, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm'
import { errorCode, errorLine, isAbort } from '../../kit/errors.ts'
import { ofAccount } from './account-rows.ts'
import { cleanNullable } from './clean.ts'
import { syncCursors, syncRuns } from './schema/index.ts'
import type { Store, Tx } from './store.ts'

type SyncRun = Readonly<typeof syncRuns.$inferSelect>

/** A run's counts during its work; the run's row in `sync_runs` is written from them. */
export type RunTally = {
  listed: number
  changed: number
  fetched: number
  absent: number
  failed: number
  /** size of the file that a backup wrote */
  bytes?: number
  /** why some items failed */
  errorCode?: string
  error?: string
}

type NewRun = { accountId: number | null; resource: string; kind: string }

/**
 * Runs one unit of work and records it in `sync_runs`. Writes the row when the work starts, and completes it with counts and outcome when
 * the work ends, even if it throws. A row that stays `running` means that the process died.
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
    // The work's error must be reported. If the database is unreachable too, the row stays `running` until a later start marks it
    // abandoned.
    const code = isAbort(error) ? 'aborted' : errorCode(error)
    await finish({ outcome: 'failed', errorCode: code, error: errorLine(error) }).catch(() => undefined)
    throw error
  })
  await finish({ outcome: tally.failed > 0 ? 'partial' : 'done' })
  return result
}

/** Records that a run began and returns its `run_id`. */
export async function recordRunStarted(tx: Tx, input: NewRun): Promise<number> {
  const [row] = await tx.db.insert(syncRuns).values(input).returning({ runId: syncRuns.runId })
  if (!row) throw new Error('an insert returns its row')
  return row.runId
}

type RunEnd = { outcome: 'done' | 'failed' | 'partial'; errorCode?: string; error?: string }

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

/** Marks runs that began before `startedBefore` and are still `running` after a crash as `abandoned`. Returns how many. */
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

/** Finds the first run that failed with this code since the resource's last successful run; returns its start, or undefined if there is none. */
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

/** How long to keep runs that succeeded and changed nothing, days. */
export const QUIET_KEPT_DAYS = 90
/** How long to keep all other runs, days. */
const OTHERS_KEPT_DAYS = 400
/** Maximum runs that one statement deletes, so that it holds no lock for long. */
const PRUNED_AT_ONCE = 10_000

// Keeps the newest run of each kind, which shows when something last succeeded or failed, however long ago.
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
 * Deletes old runs of an account, and runs without an account: after 90 days if they succeeded and changed nothing, otherwise after 400
 * days. Keeps the newest run of each account, resource, kind, outcome and error code, which shows when something last succeeded or failed.
 * Deletes at most `limit` runs and returns how many; the next call deletes more.
 */
export async function pruneRuns(
  tx: Tx,
  { accountId, limit = PRUNED_AT_ONCE }: { accountId: number; limit?: number },
): Promise<number> {
  return (await tx.client.query(PRUNE, [accountId, limit])).rowCount ?? 0
}

/** When scheduled work on the whole database was last done, and how its newest finished run ended. */
type WholeWorkState = {
  doneAt: Date | null
  /** duration of the last run that was done */
  seconds: number | null
  outcome: string | null
  error: string | null
  errorCode: string | null
}

/** Finds the state of scheduled work on the whole database, by the resource of its runs. Ignores runs started by hand. */
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

/** Counts the activities that scheduled comparisons of the last day could not compare, by account, for one account or for all that have some. */
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

/** Number of runs of one kind by outcome and error code, with the median and the 90th percentile of their duration, ms. */
export type RunCount = {
  resource: string
  kind: string
  outcome: string
  error_code: string | null
  runs: number
  median_ms: number | null
  p90_ms: number | null
}

/** Counts an account's runs of the last 90 days, without their error messages. */
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

/** SQL for the number of activities of account `a` that scheduled comparisons of the last 30 days found different. */
export const FOUND_DIFFERENT = `select coalesce(sum(changed), 0)::int as differed from training.sync_runs
  where account_id = a.account_id and resource = 'scrub' and started_at > now() - interval '30 days'`

/** SQL for when a poll last read the activity list of account `a` to its end. */
export const POLLED_AT = `select finished_at as polled_at from training.sync_runs
  where account_id = a.account_id and resource = 'activities' and kind in ('poll', 'backfill')
    and outcome in ('done', 'partial') order by started_at desc limit 1`

/** SQL for the newest run for the activity list of account `a`. */
export const LAST_RUN = `select jsonb_build_object('kind', kind, 'outcome', outcome, 'started_at', started_at, 'error', error) as last_run
  from training.sync_runs where account_id = a.account_id and resource = 'activities' order by started_at desc, run_id desc limit 1`

type CursorKey = { accountId: number; resource: string }
/** `advancedAt` and `readAt` (the time of the query) are by the database's clock, `updatedFrom` is by the service's clock. */
export type Cursor = Readonly<{ updatedFrom: Date; advancedAt: Date; readAt: Date }>
/** `cursor` is undefined before the first pass; `listCap` is the most entries that the service sends in one list, null if no limit is known. */
export type ListProgress = Readonly<{ cursor: Cursor | undefined; listCap: number | null }>

/** Finds how far a resource's list is mirrored. */
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

/** Finds a resource's cursor; undefined before the first pass. */
export async function findCursor(tx: Tx, key: CursorKey): Promise<Cursor | undefined> {
  return (await findProgress(tx, key)).cursor
}

/**
 * Moves a resource's cursor to `updatedFrom` (by the service's clock), even backwards: an early cursor lists entries again, a late one
 * loses some.
 */
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

/** Records that the whole list was compared with its windows, and the most entries that the service sends in one list (null: no limit). */
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
