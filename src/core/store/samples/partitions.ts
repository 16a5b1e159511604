import type { Logger } from 'pino'
import { errorLine } from '../../../kit/errors.ts'
import { makeLogOnce } from '../../../kit/log-once.ts'
import { sqlstateOf } from '../database-errors.ts'
import { protectParts } from '../migration/one-account.ts'
import { type Store, type Tx, withExclusiveWork } from '../store.ts'
import { keepStatistics, summarizeNew } from './vacuum.ts'

/** The tables with a row a second, each with its key and the table that gives out the keys. */
const TABLES = [
  { table: 'training.samples', key: 'activity_id', owners: 'training.activities' },
  { table: 'training.fit_records', key: 'file_id', owners: 'training.fit_files' },
] as const

/** Activities, or files, of a partition: 25 million rows, 2.5 GB. Never to be changed: the names of partitions follow from it. */
const KEYS = 5_000
/** About 30,000 rows, 3 MB: others that write wait a third of a second, and a few seconds on a machine that is very busy. */
const STEP_PAGES = 400
/** With a pause of ten seconds after that, two to three million rows a minute. */
const STEPS = 15
/** Shorter than the second after which Postgres looks for deadlocks, or ends an autovacuum that is in the way. */
const LOCK_TIMEOUT_MS = 300

type Table = (typeof TABLES)[number]

/** Cuts the tables with a row a second into partitions, see docs/decisions.md. `keys` is the width of a partition, for tests. */
export function makePartitions(
  { store, log }: { store: Store; log: Logger },
  { keys = KEYS, stepPages = STEP_PAGES } = {},
) {
  const problems = makeLogOnce(log)
  /** Up to which page each table is still to be read; all above is moved. */
  const pageOf = new Map<string, number>()

  /** Calls a function of the migration that locks, and gives up when others are in the way. */
  const call = (statement: string, values: [table: string, ...rest: unknown[]]) =>
    store.transaction(async ({ client }) => {
      await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`)
      const { rows } = await client.query<{ result: unknown }>(`SELECT musette.${statement}`, values)
      await protectParts(client, values[0])
      return rows[0]?.result
    })

  /** Moves some rows of a table, or attaches its partitions when none is left; returns whether there is more to do. */
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
    // Gives the end of the table back to the disk, as far as no open transaction sees rows there.
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
      const sentence = `${table} gets no partitions, because of ${state.obstacle}, which others have made; drop it, and make it again when the log says that the table is partitioned`
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
     * Makes the partitions that are needed next, and moves some rows of a table that is not partitioned yet. Returns whether there is more
     * to do soon. A failure is only logged, because every row stays where all find it; does nothing while another process does the same.
     * The signal ends it after the step that runs.
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
          // A reader may be long, and each try lets others wait.
          isMore ||= isLocked && pageOf.has(one.table)
          const problem = `${one.table} could not be partitioned (${errorLine(error)}); it is tried again`
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

/** Tells whether nothing is to be done: in a small mirror, with partitions that a person has made, and with all that are needed. */
const isSettled = ({ is_plain, last, is_ours, is_ahead }: State) =>
  is_plain ? last === 0 : !is_ours || is_ahead

/** Finds how far a table is cut, see musette.partition_state in the database. */
async function findState({ client }: Tx, { table, key, owners }: Table, keys: number): Promise<State> {
  const text = 'SELECT * FROM musette.partition_state($1, $2, $3, $4)'
  return (await client.query(text, [table, key, owners, keys])).rows[0]
}

/** Finds how far the tables are cut into partitions, in words; nothing about those of a small mirror. */
export async function findPartitioning(tx: Tx): Promise<string[]> {
  const said: string[] = []
  for (const one of TABLES) {
    const { is_plain, parts, pages, obstacle } = await findState(tx, one, KEYS)
    if (obstacle !== null) said.push(`${one.table} stays one table because of ${obstacle}`)
    else if (parts > 0)
      said.push(
        `${one.table} has ${parts} partitions${is_plain ? `; ${pages} pages are still to be moved` : ''}`,
      )
  }
  return said
}
