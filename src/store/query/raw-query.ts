import pg from 'pg'
import { ConfigError, errorLine, isAbort } from '../../kit/errors.ts'
import { mapDatabaseError } from '../database-errors.ts'
import { openGuardedConnection, openWritableConnection } from './connection.ts'
import { splitStatements } from './split-statements.ts'
import type { Field, Part, Row } from './statement.ts'

export type { Field, Part, Row } from './statement.ts'

export type Queries = {
  /**
   * Runs the statements of a text one after the other and yields their answers as they come, in constant memory. An
   * abort cancels the statement at the server, and throws its reason. Throws ConfigError `sql_rejected` with
   * what Postgres says about a statement, and what the store throws.
   */
  run(text: string, signal?: AbortSignal): AsyncGenerator<Part, void, undefined>
  /** Rolls back what is not committed, and closes the connection. Never throws. */
  close(): Promise<void>
}

/** The whole answer of one statement; one that returns no rows has no fields. */
export type QueryResult = { command: string; fields: readonly Field[]; rows: Row[] }

type QueriesOptions = { connectionString: string; write: boolean; signal?: AbortSignal | undefined }

// read_only_sql_transaction; active_sql_transaction: what cannot run in the transaction that guards, VACUUM for instance
const NEEDS_WRITE: ReadonlySet<string> = new Set(['25006', '25001'])

/**
 * Opens one connection for SQL that a person typed: any number of statements, each with its own answer. Without
 * `write` it only reads: one mistyped statement must not empty the mirror.
 */
export async function openQueries({ write, ...options }: QueriesOptions): Promise<Queries> {
  const open = write ? openWritableConnection : openGuardedConnection
  const connection = await open({ ...options, applicationName: 'musette sql' })
  return {
    async *run(text, signal) {
      try {
        for (const one of write ? [text] : splitStatements(text)) yield* connection.run(one, signal)
      } catch (error) {
        throw isAbort(error, signal) ? error : rejected(error, write)
      }
    },
    close: () => connection.close(),
  }
}

/** Runs the statements of a text and collects what they answer: for answers that are known to be small. */
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
  // The statement is the person's own, so Postgres's complaint about it may be shown whole.
  if (!(error instanceof pg.DatabaseError) || /^(57P|08(?!P01))/.test(error.code ?? '')) {
    return mapDatabaseError(error, 'query', true)
  }
  const advice = error.hint ? ` (${error.hint})` : ''
  const hint = !write && NEEDS_WRITE.has(error.code ?? '') ? '; add --write if that is meant' : advice
  return new ConfigError('sql_rejected', `SQL: ${errorLine(error)}${hint}`, { cause: error })
}
