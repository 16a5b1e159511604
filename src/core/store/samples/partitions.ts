import type { Logger } from 'pino'
import { errorLine } from '../../../kit/errors.ts'
import { makeLogOnce } from '../../../kit/log-once.ts'
import { sqlstateOf } from '../database-errors.ts'
import { protectParts } from '../migration/one-account.ts'
import { type Store, type Tx, withExclusiveWork } from '../store.ts'
import { keepStatistics, summarizeNew } from './vacuum.ts'

/** The tables with one row per second, each with its key and the table that generates the keys. */
const TABLES = [
  { table: 'training.samples', key: 'activity_id', owners: 'training.activities' },
  { table: 'training.fit_records', key: 'file_id', owners: 'training.fit_files' },
] as const

/** Activities, or files, per partition: 25 million rows, 2.5 GB. Must never change, because the names of partitions depend on it. */
const KEYS = 5_000
/** Pages moved per step: 30,000 rows, 3 MB. Other writers wait a third of a second, or a few seconds on a very busy machine. */
const STEP_PAGES = 400
/** Steps per call: with the pause of ten seconds after each call, two to three million rows a minute. */
const STEPS = 15
/** Shorter than one second, after which Postgres looks for deadlocks or cancels an autovacuum that blocks other sessions. */
const LOCK_TIMEOUT_MS = 300

type Table = (typeof TABLES)[number]

/** Partitions the tables with one row per second, see docs/decisions.md. `keys` is the width of a partition, for tests. */
export function makePartitions(
  { store, log }: { store: Store; log: Logger },
  { keys = KEYS, stepPages = STEP_PAGES } = {},
) {
  const problems = makeLogOnce(log)
  /** For each table, the page above which all rows have been moved. */
  const pageOf = new Map<string, number>()

  /** Calls a database function that takes locks. Gives up if other sessions hold the locks. */
  const call = (statement: string, values: [table: string, ...rest: unknown[]]) =>
    store.transaction(async ({ client }) => {
      await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`)
      const { rows } = await client.query<{ result: unknown }>(`SELECT musette.${statement}`, values)
      await protectParts(client, values[0])
      return rows[0]?.result
    })

  /** Moves some of a table's rows, or attaches its partitions if no row is left. Reports whether further work remains. */
  const move = async ({ table, key }: Table, pages: number, signal?: AbortSignal): Promise<boolean> => {
    let page = Math.min(pages, pageOf.get(table) ?? pages)
    let moved = 0
    for (let step = 0; step < STEPS && page > 0 && !signal?.aborted; step++) {
      const next = Math.max(0, page - stepPages)
      moved += Number(await call('move_to_partitions($1, $2, $3, $4) AS result', [table, key, keys, next]))
      page = next
      pageOf.set(table, page)
    }
    if (signal?.aborted) return true
    if (moved > 0) {
      log.info({ table, moved, pagesLeft: page }, 'moved rows to partitions')
      await store.execute(summarizeNew(table, key))
      await keepStatistics(store)
    }
    // Returns the end of the table to the disk, unless an open transaction sees rows there.
    await store.execute(`VACUUM (SKIP_LOCKED) ${table}`)
    if (page > 0) return true
    pageOf.delete(table)
    const isDone = await call('attach_partitions($1, $2, $3) AS result', [table, key, keys])
    if (isDone) log.info({ table }, 'the table is partitioned now')
    return !isDone
  }

  const keepTable = async (one: Table, signal?: AbortSignal): Promise<boolean> => {
    const { table, key } = one
    const state = await store.read((tx) => findState(tx, one, keys))
    if (isSettled(state)) return false
    if (state.obstacle !== null) {
      const sentence = `${table} cannot be partitioned because of ${state.obstacle}, which musette did not create; drop it, and create it again when the log says that the table is partitioned`
      problems.say('warn', table, sentence)
      return false
    }
    problems.over(table)
    if (!state.is_ahead) {
      const text = 'add_partition($1, $2, $3, n) AS result FROM generate_series(0, $4::int) n'
      await call(text, [table, key, keys, state.last + 1])
      await keepStatistics(store)
    }
    return state.is_plain && (await move(one, state.pages, signal))
  }

  return {
    /**
     * Creates the partitions that are needed next, and moves some rows of a table that is not partitioned yet. Reports whether there is
     * more to do soon. Only logs a failure, because every row stays readable. Does nothing while another process does the same work. The
     * signal stops it after the current step.
     */
    async keep(signal?: AbortSignal): Promise<boolean> {
      let isMore = false
      for (const one of TABLES)
        try {
          if (isSettled(await store.read((tx) => findState(tx, one, keys)))) continue
          isMore = (await withExclusiveWork(store, 'partitions', () => keepTable(one, signal))) || isMore
          problems.over(one.key)
        } catch (error) {
          const isLocked = sqlstateOf(error) === '55P03'
          // A reader may take long, and each attempt makes others wait.
          isMore ||= isLocked && pageOf.has(one.table)
          const problem = `${one.table} could not be partitioned (${errorLine(error)}); musette will try again`
          if (!isLocked) problems.say('warn', one.key, problem)
        }
      return isMore
    },
  }
}

type State = {
  is_plain: boolean
  is_ours: boolean
  last: number
  is_ahead: boolean
  parts: number
  pages: number
  obstacle: string | null
}

/** Reports whether there is nothing to do: the mirror is small, a person made the partitions, or all needed partitions exist. */
const isSettled = ({ is_plain, last, is_ours, is_ahead }: State) =>
  is_plain ? last === 0 : !is_ours || is_ahead

/** Finds how far a table is partitioned, see musette.partition_state in the database. */
async function findState({ client }: Tx, { table, key, owners }: Table, keys: number): Promise<State> {
  const text = 'SELECT * FROM musette.partition_state($1, $2, $3, $4)'
  return (await client.query(text, [table, key, owners, keys])).rows[0]
}

/** Describes how far the tables are partitioned; leaves out those of a small mirror. */
export async function findPartitioning(tx: Tx): Promise<string[]> {
  const said: string[] = []
  for (const one of TABLES) {
    const { is_plain, parts, pages, obstacle } = await findState(tx, one, KEYS)
    if (obstacle !== null) said.push(`${one.table} is not partitioned because of ${obstacle}`)
    else if (parts > 0)
      said.push(`${one.table} has ${parts} partitions${is_plain ? `; ${pages} pages are still to move` : ''}`)
  }
  return said
}
