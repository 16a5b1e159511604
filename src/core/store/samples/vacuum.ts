import type { Logger } from 'pino'
import { errorLine } from '../../../kit/errors.ts'
import type { Store } from '../store.ts'

/** Keeps the table of samples small and fast to read while hundreds of activities are replaced. */
export type SamplesVacuum = ReturnType<typeof makeSamplesVacuum>

/** Minimum number of changed samples (2 MB); fewer samples do not justify a vacuum. */
const MIN_ROWS = 20_000
/** Share of the table that must be replaced before a vacuum, or added before an analyze. */
const SHARE = 0.1
/** New samples before the index summaries are updated: 10 MB, which are still in Postgres's cache. */
const SUMMARIZE_EVERY = 100_000

/**
 * Makes the vacuum of `training.samples`. Autovacuum does most of the work, but runs at most once a minute. Without this vacuum, replacing
 * a whole history would take twice its space, and until the table is analyzed, a query for one activity would read all samples. A failure
 * is only logged, because it costs time or space and no data.
 */
export function makeSamplesVacuum(deps: { store: Store; log: Logger }) {
  const { store } = deps
  let idle = true
  let newRows = 0
  let replacedRows = 0
  let replacedSinceAnalyze = 0
  let limit: number | undefined
  let running = false
  let hasStatistics = false

  const needsVacuum = async () => {
    if (replacedRows < MIN_ROWS) return false
    limit ??= Math.max(MIN_ROWS, SHARE * (await countSamples(store)).held)
    return replacedRows >= limit
  }

  return {
    /**
     * Adds all samples to the index summaries. Call this before many samples are replaced: after a restore there are no summaries, and each
     * deletion would read the whole table.
     */
    beforeRewrite: () => attempt(deps, () => store.execute(SUMMARIZE_NEW)),
    /**
     * Counts the samples that a batch wrote and the samples that it replaced. Once there are enough, vacuums the replaced samples or adds the
     * new samples to the index summaries.
     */
    async afterWrite(batch: ReadonlyArray<{ written: number; replaced: number }>): Promise<void> {
      for (const { written, replaced } of batch) {
        if (written + replaced > 0) idle = false
        newRows += written
        replacedRows += replaced
        replacedSinceAnalyze += replaced
      }
      if (idle || running) return
      running = true
      await attempt(deps, async () => {
        if (!hasStatistics) {
          // A failed attempt is not repeated at each write.
          hasStatistics = true
          hasStatistics = await keepStatistics(store)
        }
        const [toVacuum, toSummarize] = [await needsVacuum(), newRows >= SUMMARIZE_EVERY]
        // If another vacuum runs, the next write tries again.
        if (!(toVacuum || toSummarize) || (await isLocked(store))) return
        newRows = 0
        if (toVacuum) replacedRows = 0
        await store.execute(toVacuum ? 'VACUUM (SKIP_LOCKED) training.samples' : SUMMARIZE_NEW)
      })
      running = false
    },
    /** Updates the planner's statistics of every table, and the indexes of samples, where much has changed. Call this when no work is left. */
    async whenIdle(): Promise<void> {
      if (idle) return
      idle = true
      await attempt(deps, async () => {
        limit = undefined
        for (const table of await findUnanalyzed(store)) await store.execute(`ANALYZE (SKIP_LOCKED) ${table}`)
        const { held, known } = await countSamples(store)
        const mostMoved = replacedSinceAnalyze >= Math.max(MIN_ROWS, held / 2)
        if (!mostMoved && Math.abs(held - known) < Math.max(MIN_ROWS, SHARE * held)) return
        await store.execute('ANALYZE training.samples (activity_id)')
        await keepStatistics(store)
        await store.execute(mostMoved ? SUMMARIZE_ALL : SUMMARIZE_NEW)
        if (mostMoved) replacedSinceAnalyze = 0
      })
    },
  }
}

const LEAVES = "SELECT oid FROM musette.leaves('training.samples') oid"

/** Returns the statement that adds new rows to the summaries of the indexes on a table's key. */
export const summarizeNew = (table: string, key: string) =>
  `SELECT brin_summarize_new_values(index) FROM musette.brin_indexes('${table}', '{${key}}')`

// Every query reads the page ranges that have no summary. Leaves out samples_t, which autovacuum summarizes within minutes: no query of
// musette needs it.
const SUMMARIZE_NEW = summarizeNew('training.samples', 'activity_id')
// A summary never drops the activities and times that have left its range, so it must be rebuilt.
const SUMMARIZE_ALL = `
  SELECT brin_desummarize_range(index, page), brin_summarize_range(index, page)
  FROM musette.brin_indexes('training.samples', '{activity_id,t}'),
    generate_series(0, pg_relation_size(leaf) / current_setting('block_size')::bigint, 32) AS page`

async function attempt({ log }: { log: Logger }, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn(
      { reason: errorLine(error) },
      'tables could not be vacuumed or analyzed; queries are slower until the next try',
    )
  }
}

/** Reports whether autovacuum or another process holds a lock that conflicts with a vacuum. */
async function isLocked(store: Store): Promise<boolean> {
  const rows = await store.query(
    `SELECT FROM pg_locks WHERE relation IN (${LEAVES}) AND granted
       AND mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  )
  return rows.length > 0
}

/** Counts the samples by the rows of the activities (`held`) and by the planner's statistics (`known`). */
async function countSamples(store: Store): Promise<{ held: number; known: number }> {
  const [row] = await store.query<{ held: number; known: number }>(
    `SELECT (SELECT coalesce(sum(sample_count), 0) FROM training.activities)::float8 AS held,
       sum(greatest(reltuples, 0)::float8) AS known
     FROM pg_class WHERE oid IN (${LEAVES})`,
  )
  return row ?? { held: 0, known: 0 }
}

/**
 * Corrects the planner's statistics of `samples.activity_id`, and keeps ANALYZE from replacing them; does nothing before Postgres 18, which
 * cannot do this. Postgres estimates the cost of a BRIN index by the order of all rows, but the rows of an activity always lie together. After
 * edits in random order, it read all 10 million samples to find the samples of ten activities, in 1.4 s instead of 40 ms. Returns false while
 * a vacuum holds the table, so that the next write tries again.
 */
export async function keepStatistics(store: Store): Promise<boolean> {
  const rows = await store.query<{ schema: string; name: string; distinct: number }>(
    `SELECT n.nspname AS schema, c.relname AS name, (-a.activities / a.held)::float8 AS distinct
     FROM (SELECT sum(sample_count)::float8 AS held, (count(*) FILTER (WHERE sample_count > 0))::float8 AS activities
           FROM training.activities) a, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = 'activity_id' AND NOT s.inherited
     WHERE c.oid IN (${LEAVES}) AND current_setting('server_version_num')::int >= 180000
       AND a.held > 0
       AND (s.correlation = 1 AND -s.n_distinct BETWEEN a.activities / a.held / 2 AND a.activities / a.held * 2) IS NOT TRUE`,
  )
  if (rows.length === 0) return true
  // A waiting lock request would cancel an autovacuum and make others wait.
  if (await isLocked(store)) return false
  for (const { schema, name, distinct } of rows) {
    const column = `'schemaname', '${schema}', 'relname', '${name}', 'attname', 'activity_id', 'inherited', false`
    await store.execute(`
      ALTER TABLE ONLY ${schema}.${name} ALTER activity_id SET STATISTICS 0;
      SELECT pg_clear_attribute_stats('${schema}', '${name}', 'activity_id', false);
      SELECT pg_restore_attribute_stats(${column}, 'null_frac', 0::real, 'avg_width', 4, 'correlation', 1::real,
        'n_distinct', ${distinct}::real)`)
  }
  return true
}

/** Minimum changed rows of a table before an analyze. */
const MIN_CHANGED = 500

/** Finds the tables, except samples, in which more than a fifth of the rows changed since the last analyze: autovacuum may be slow or off. */
async function findUnanalyzed(store: Store): Promise<string[]> {
  const rows = await store.query<{ name: string }>(
    `SELECT relid::regclass::text AS name FROM pg_stat_user_tables
     WHERE schemaname IN ('training', 'musette') AND relid <> 'training.samples'::regclass
       AND n_mod_since_analyze >= ${MIN_CHANGED} + n_live_tup / 5`,
  )
  return rows.map(({ name }) => name)
}
