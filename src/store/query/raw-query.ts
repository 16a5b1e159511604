import pg from 'pg'
import { ConfigError, errorLine, isAbort } from '../../kit/errors.ts'
import { mapDatabaseError } from '../database-errors.ts'
import { openGuardedConnection, openWritableConnection } from './connection.ts'
import { splitStatements } from './split-statements.ts'
import type { Field, Part, Row } from './statement.ts'

export type { Field, Part, Row } from './statement.ts'

export type Queries = {
  /**
   * Runs the statements of a text in order and yields the parts of their results, in constant memory. An abort cancels the
   * statement at the server and throws the signal's reason. Throws ConfigError `sql_rejected` with Postgres's message about a
   * statement, and the store's errors.
   */
  run(text: string, signal?: AbortSignal): AsyncGenerator<Part, void, undefined>
  /** Rolls back uncommitted changes and closes the connection. Never throws. */
  close(): Promise<void>
}

/** The whole result of one statement; without rows it has no fields. `command` is the command tag: `SELECT 12`. */
export type QueryResult = { command: string; fields: readonly Field[]; rows: Row[] }

type QueriesOptions = { connectionString: string; write: boolean; signal?: AbortSignal | undefined }

// SQLSTATEs read_only_sql_transaction and active_sql_transaction; the latter for statements like VACUUM.
const NEEDS_WRITE: ReadonlySet<string> = new Set(['25006', '25001'])

/**
 * Opens a connection for SQL that a person typed: any number of statements, each with its own result. Without `write` it only
 * reads, because one mistyped statement could delete the mirror. Throws the store's errors.
 */
export async function openQueries({ write, ...options }: QueriesOptions): Promise<Queries> {
  const open = write ? openWritableConnection : openGuardedConnection
  const connection = await open({ ...options, applicationName: 'musette sql' })
  return {
    async *run(text, signal) {
      try {
        for (const one of write ? [text] : splitStatements(text)) yield* connection.run(one, { signal })
      } catch (error) {
        throw isAbort(error, signal) ? error : rejected(error, write)
      }
    },
    close: () => connection.close(),
  }
}

/** Runs the statements of a text and collects their results in memory, for small results. Throws as `run` does. */
export async function collectResults(queries: Pick<Queries, 'run'>, text: string): Promise<QueryResult[]> {
  const results: QueryResult[] = []
  let fields: readonly Field[] = []
  let rows: Row[] = []
  for await (const part of queries.run(text)) {
    if (part.kind === 'fields') fields = part.fields
    if (part.kind === 'rows') rows = rows.concat(part.rows)
    if (part.kind !== 'done') continue
    results.push({ command: part.command, fields, rows })
    fields = []
    rows = []
  }
  return results
}

function rejected(error: unknown, write: boolean): unknown {
  // The person wrote the statement, so the whole message of Postgres may be shown.
  if (!(error instanceof pg.DatabaseError) || /^(57P|08(?!P01))/.test(error.code ?? '')) {
    return mapDatabaseError(error, 'query', true)
  }
  const advice = error.hint ? ` (${error.hint})` : ''
  const hint = !write && NEEDS_WRITE.has(error.code ?? '') ? '; add --write if that is meant' : advice
  return new ConfigError('sql_rejected', `SQL: ${errorLine(error)}${hint}`, { cause: error })
}
