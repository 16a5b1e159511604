import type { Logger } from 'pino'
import { errorLine } from '../../kit/errors.ts'
import type { Store } from '../store.ts'

/** What keeps the table of samples small and quick to read while rides are replaced by the hundred. */
export type Upkeep = {
  /**
   * Is told of samples that were written, in the place of `replaced` others; now and then has the room of these used again,
   * or the index look at the new ones.
   */
  written(input: { samples: number; replaced: number }): Promise<void>
  /** Is told that nothing more is wanted for now; brings the planner's numbers and the index up to date if need be. */
  rest(): Promise<void>
}

/** Below this nothing is worth its while: 20,000 samples are 2 MB. */
const LEAST_ROWS = 20_000
/** How much of the table may be replaced samples before their room is used again, or new before it is counted again. */
const SHARE = 0.1
/** So many samples are 10 MB, which Postgres still has at hand when the index looks at them. */
const SUMMARIZE_EVERY = 100_000

/**
 * Makes the upkeep of `training.samples`. Autovacuum does most of it, but looks once a minute only: a recalculated history
 * that is replaced as fast as it comes would take twice its room, and until the table is analyzed, one ride is read by
 * reading all of them. What fails here is said in the log and costs nothing but time or room.
 */
export function makeUpkeep(deps: { store: Store; log: Logger }): Upkeep {
  const { store } = deps
  let resting = true
  let fresh = 0
  let dead = 0
  let worn = 0
  let limit: number | undefined
  let tidying = false

  const isWorn = async () => {
    if (dead < LEAST_ROWS) return false
    limit ??= Math.max(LEAST_ROWS, SHARE * (await countSamples(store)).held)
    return dead >= limit
  }

  return {
    async written({ samples, replaced }) {
      resting = false
      fresh += samples
      dead += replaced
      worn += replaced
      if (tidying) return
      tidying = true
      await attempt(deps, async () => {
        const [toVacuum, toSummarize] = [await isWorn(), fresh >= SUMMARIZE_EVERY]
        // While somebody else is at it, it is tried again whenever samples were written.
        if (!(toVacuum || toSummarize) || (await isTaken(store))) return
        fresh = 0
        if (toVacuum) dead = 0
        await store.execute(toVacuum ? 'VACUUM (SKIP_LOCKED) training.samples' : SUMMARIZE_NEW)
      })
      tidying = false
    },
    async rest() {
      if (resting) return
      resting = true
      await attempt(deps, async () => {
        const { held, known } = await countSamples(store)
        limit = undefined
        const moved = worn >= Math.max(LEAST_ROWS, held / 2)
        if (!moved && Math.abs(held - known) < Math.max(LEAST_ROWS, SHARE * held)) return
        await store.execute('ANALYZE training.samples (activity_id)')
        await store.execute(moved ? SUMMARIZE_ALL : SUMMARIZE_NEW)
        if (moved) worn = 0
      })
    },
  }
}

// A range of pages that the index has no summary of is read for every ride.
const SUMMARIZE_NEW = `SELECT brin_summarize_new_values('training.samples_activity')`
// A summary remembers which rides were ever in its range, and forgets none by itself.
const SUMMARIZE_ALL = `
  SELECT brin_desummarize_range(i.indexrelid, page), brin_summarize_range(i.indexrelid, page)
  FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid,
    generate_series(0, pg_relation_size(t.oid) / current_setting('block_size')::bigint, 32) AS page
  WHERE i.indexrelid = 'training.samples_activity'::regclass`

async function attempt({ log }: { log: Logger }, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn({ reason: errorLine(error) }, 'the table of samples could not be tidied; it is read more slowly')
  }
}

/** Whether autovacuum or somebody else holds the lock that a vacuum needs. */
async function isTaken(store: Store): Promise<boolean> {
  const { rows } = await store.read((tx) =>
    tx.client.query(
      `SELECT FROM pg_locks WHERE relation = 'training.samples'::regclass AND granted
         AND mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    ),
  )
  return rows.length > 0
}

/** How many samples there are by our own count, and by the planner's. */
async function countSamples(store: Store): Promise<{ held: number; known: number }> {
  const { rows } = await store.read((tx) =>
    tx.client.query<{ held: number; known: number }>(
      `SELECT (SELECT coalesce(sum(sample_count), 0) FROM training.activities)::float8 AS held,
         greatest(reltuples, 0)::float8 AS known
       FROM pg_class WHERE oid = 'training.samples'::regclass`,
    ),
  )
  return rows[0] ?? { held: 0, known: 0 }
}
