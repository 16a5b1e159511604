import pg from 'pg'
import type { Logger } from 'pino'
import { empty, mapDatabaseError } from '../../core/store/database-errors.ts'
import { errorCode, isAbort } from '../../kit/errors.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { findMismatch, openDatabase } from '../../program/app/open-database.ts'
import type { Config } from '../../program/config/config.ts'
import { type Notice, openGuardedConnection, openWritableConnection } from '../../program/query/connection.ts'
import type { Field, Part, Row } from '../../program/query/statement.ts'
import { makeCatalogueQuery, noSuchTable } from './backslash-commands.ts'
import { RejectedStatement } from './rejected-statement.ts'
import { splitStatements } from './split-statements.ts'

export type { Notice, Remarks } from '../../program/query/connection.ts'
export type { Field, Part, Row } from '../../program/query/statement.ts'
export { RejectedStatement } from './rejected-statement.ts'

export type Queries = {
  /**
   * Runs the statements of a text in order and yields the parts of their results, in constant memory. An abort cancels the
   * statement at the server and throws the signal's reason. The commands `\\d` and `\\d NAME` of psql, alone in the text, are answered
   * from the catalogue. Throws RejectedStatement with Postgres's message about a statement, and the store's errors.
   */
  run(text: string, signal?: AbortSignal): AsyncGenerator<Part, void, undefined>
  /** Rolls back uncommitted changes and closes the connection. Never throws. */
  close(): Promise<void>
}

/** The whole result of one statement; without rows it has no fields. `command` is the command tag: `SELECT 12`. */
export type QueryResult = { command: string; fields: readonly Field[]; rows: Row[] }

type QueriesOptions = {
  connectionString: string
  write: boolean
  signal?: AbortSignal | undefined
  /** gets each notice and warning of a statement */
  onNotice?: ((notice: Notice) => void) | undefined
}

/**
 * Opens a connection for SQL that a person typed; starts the embedded Postgres if it does not run. `write` allows changes. A database
 * of another version is opened with a warning, but no newer embedded one for changes.
 */
export async function openDatabaseQueries(
  config: Config,
  log: Logger,
  options: { write: boolean; signal?: AbortSignal; onNotice?: (notice: Notice) => void },
): Promise<Queries> {
  const { write, signal, onNotice } = options
  const database = await openDatabase(config, log, signal, write ? 'check' : 'read')
  try {
    const queries = await openQueries({ ...options, connectionString: database.url })
    const mismatch = await findMismatch({
      rowsOf: async (text) => (await collectResults(queries, text, signal))[0]?.rows ?? [],
    })
    if (mismatch !== undefined) onNotice?.({ severity: 'WARNING', message: mismatch })
    return {
      async *run(text, signal) {
        try {
          yield* queries.run(text, signal)
        } catch (error) {
          throw errorCode(error) === 'sql_rejected' && (await isEmpty(queries)) ? empty(error) : error
        }
      },
      close: () => closeAfter(database, () => queries.close()),
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

// SQLSTATEs read_only_sql_transaction and active_sql_transaction; the latter for statements like VACUUM.
const NEEDS_WRITE: ReadonlySet<string> = new Set(['25006', '25001'])

/**
 * Opens a connection for SQL that a person typed: any number of statements, each with its own result. Without `write` it only
 * reads, because one mistyped statement could delete the mirror. Throws the store's errors.
 */
export async function openQueries({ write, ...options }: QueriesOptions): Promise<Queries> {
  const open = write ? openWritableConnection : openGuardedConnection
  const connection = await open({ ...options, applicationName: 'musette sql' })
  async function* runOne(text: string, signal: AbortSignal | undefined) {
    try {
      yield* connection.run(text, { signal })
    } catch (error) {
      throw isAbort(error, signal) ? error : rejected(error, text, write)
    }
  }
  async function* answer(command: string, signal: AbortSignal | undefined) {
    const { text, name } = makeCatalogueQuery(command)
    let empty = true
    for await (const part of runOne(text, signal)) {
      if (part.kind === 'rows') empty = false
      if (part.kind === 'done' && empty && name !== undefined) throw noSuchTable(name)
      yield part
    }
  }
  return {
    async *run(text, signal) {
      if (text.trim().startsWith('\\')) return yield* answer(text.trim(), signal)
      // What is written in one text is one transaction.
      for (const part of write ? [text] : splitStatements(text)) yield* runOne(part, signal)
    },
    close: () => connection.close(),
  }
}

/** Runs the statements of a text and collects their results in memory, for small results. Throws as `run` does. */
export async function collectResults(queries: Pick<Queries, 'run'>, text: string, signal?: AbortSignal) {
  const results: QueryResult[] = []
  let fields: readonly Field[] = []
  let rows: Row[] = []
  for await (const part of queries.run(text, signal)) {
    if (part.kind === 'fields') fields = part.fields
    if (part.kind === 'rows') rows = rows.concat(part.rows)
    if (part.kind !== 'done') continue
    results.push({ command: part.command, fields, rows })
    fields = []
    rows = []
  }
  return results
}

function rejected(error: unknown, text: string, write: boolean): unknown {
  if (!(error instanceof pg.DatabaseError) || /^(57P|08(?!P01))/.test(error.code ?? '')) {
    return mapDatabaseError(error, 'query', true)
  }
  const advice = !write && NEEDS_WRITE.has(error.code ?? '') ? '; add --write if that is meant' : ''
  return new RejectedStatement(error, text, advice)
}

/** Tells whether the tables of the mirror are missing; a reading login can check that too. */
async function isEmpty(queries: Queries): Promise<boolean> {
  const text = "select 1 where to_regnamespace('training') is null"
  const [result] = await collectResults(queries, text).catch(() => [])
  return (result?.rows.length ?? 0) > 0
}
