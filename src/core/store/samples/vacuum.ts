import type { Logger } from 'pino'
import { errorLine } from '../../../kit/errors.ts'
import type { Store } from '../store.ts'

/** Keeps the table of samples small and quick to read while hundreds of activities are replaced. */
export type SamplesVacuum = ReturnType<typeof makeSamplesVacuum>

/** Fewer changed samples than this, 2 MB, are not worth the work. */
const MIN_ROWS = 20_000
/** The share of the table that may be replaced samples before a vacuum, or new samples before an analyze. */
const SHARE = 0.1
/** 10 MB of samples: they are still in Postgres's cache when the indexes are brought up to date. */
const SUMMARIZE_EVERY = 100_000

/**
 * Makes the vacuum of `training.samples`. Autovacuum does most of the work, but runs once a minute at most: a history that is
 * replaced as a whole would take twice its room, and until the table is analyzed, a query for one activity reads all of them.
 * A failure is only logged, because it costs time or room and no data.
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
     * Adds all samples to the summaries of the indexes; to be called before many are replaced. After a restore there are none, and
     * each deletion would read the whole table.
     */
    beforeRewrite: () => attempt(deps, () => store.execute(SUMMARIZE_NEW)),
    /**
     * Counts the samples of a batch that were written in place of `replaced` others. When enough have come together, it vacuums the
     * replaced ones or adds the new ones to the summaries of the indexes.
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
          // What fails is not tried at each write.
          hasStatistics = true
          hasStatistics = await keepStatistics(store)
        }
        const [toVacuum, toSummarize] = [await needsVacuum(), newRows >= SUMMARIZE_EVERY]
        // When another vacuum runs, the next write tries again.
        if (!(toVacuum || toSummarize) || (await isLocked(store))) return
        newRows = 0
        if (toVacuum) replacedRows = 0
        await store.execute(toVacuum ? 'VACUUM (SKIP_LOCKED) training.samples' : SUMMARIZE_NEW)
      })
      running = false
    },
    /** Updates the planner's statistics of every table, and the indexes of samples, where much has changed; to be called when no work is left. */
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

/** The statement that adds new rows to the summaries of the indexes of a table's key. */
export const summarizeNew = (table: string, key: string) =>
  `SELECT brin_summarize_new_values(index) FROM musette.brin_indexes('${table}', '{${key}}')`

// Every query reads the page ranges that have no summary in an index.
// Autovacuum adds those of samples_t within minutes: no query of musette needs it.
const SUMMARIZE_NEW = summarizeNew('training.samples', 'activity_id')
// A summary keeps the activities and times of its range and never drops one.
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

/** Tells whether autovacuum or another process holds the lock that a vacuum needs. */
async function isLocked(store: Store): Promise<boolean> {
  const rows = await store.query(
    `SELECT FROM pg_locks WHERE relation IN (${LEAVES}) AND granted
       AND mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  )
  return rows.length > 0
}

/** Counts the samples by the activities' rows (`held`) and by the planner's statistics (`known`). */
async function countSamples(store: Store): Promise<{ held: number; known: number }> {
  const [row] = await store.query<{ held: number; known: number }>(
    `SELECT (SELECT coalesce(sum(sample_count), 0) FROM training.activities)::float8 AS held,
       sum(greatest(reltuples, 0))::float8 AS known
     FROM pg_class WHERE oid IN (${LEAVES})`,
  )
  return row ?? { held: 0, known: 0 }
}

/**
 * Corrects the planner's statistics of `samples.activity_id`, and keeps ANALYZE from replacing them; does nothing before Postgres 18, which
 * does not support it. Postgres estimates the cost of a BRIN index by the order of all rows, but the rows of an
 * activity always lie together: after edits in random order it read all of 10 million samples to find those of ten activities, 1.4 s
 * instead of 40 ms. Returns false while a vacuum holds the table: the next write tries again.
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
  // A lock of ours that waits would end an autovacuum, and keep others waiting.
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

/** Rows that may change in a small table before an analyze. */
const MIN_CHANGED = 500

/** Finds the tables except samples with statistics older than a fifth of their rows: autovacuum may be slow or off. */
async function findUnanalyzed(store: Store): Promise<string[]> {
  const rows = await store.query<{ name: string }>(
    `SELECT relid::regclass::text AS name FROM pg_stat_user_tables
     WHERE schemaname IN ('training', 'musette') AND relid <> 'training.samples'::regclass
       AND n_mod_since_analyze >= ${MIN_CHANGED} + n_live_tup / 5`,
  )
  return rows.map(({ name }) => name)
}
