import pg from 'pg'
import { ConfigError, errorLine } from '../kit/errors.ts'
import { PostgresClient } from '../kit/postgres-client.ts'
import { mapDatabaseError } from './errors.ts'

export type QueryResult = { command: string; columns: string[]; rows: Record<string, unknown>[] }
export type Queries = { query(text: string): Promise<QueryResult[]>; close(): Promise<void> }

/** Numbers that JavaScript holds exactly, truth values and JSON are parsed; everything else stays as Postgres writes it. */
const PARSED: ReadonlySet<number> = new Set<number>([
  pg.types.builtins.INT2,
  pg.types.builtins.INT4,
  pg.types.builtins.FLOAT4,
  pg.types.builtins.FLOAT8,
  pg.types.builtins.BOOL,
  pg.types.builtins.JSON,
  pg.types.builtins.JSONB,
])

/** read_only_sql_transaction */
const READ_ONLY = '25006'

/**
 * Opens one connection for SQL that a person typed: any number of statements, each with its own result. Without
 * `write` it only reads: one mistyped statement must not empty the mirror.
 */
export async function openQueries(options: { connectionString: string; write: boolean }): Promise<Queries> {
  const client = new PostgresClient({
    connectionString: options.connectionString,
    application_name: 'musette sql',
    types: {
      getTypeParser: (oid: number, format) =>
        PARSED.has(oid) ? pg.types.getTypeParser(oid, format) : (text: string) => text,
    },
    options: `-c search_path=training,public -c timezone=UTC -c default_transaction_read_only=${options.write ? 'off' : 'on'}`,
  })
  // A connection that breaks while idle is reported by the next query.
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    throw mapDatabaseError(error, 'connect')
  }
  return {
    async query(text) {
      const answer = await run(client, text)
      const results = Array.isArray(answer) ? answer : [answer]
      return results.map(({ command, fields, rows }) => ({
        command,
        columns: fields.map((field) => field.name),
        rows,
      }))
    },
    close: () => client.end(),
  }
}

async function run(client: pg.Client, text: string): Promise<pg.QueryResult | pg.QueryResult[]> {
  try {
    return await client.query(text)
  } catch (error) {
    // The statement is the person's own, so Postgres's complaint about it may be shown whole.
    if (!(error instanceof pg.DatabaseError) || /^(57P|08)/.test(error.code ?? '')) {
      throw mapDatabaseError(error, 'query', true)
    }
    const hint =
      error.code === READ_ONLY ? '; add --write if that is meant' : error.hint ? ` (${error.hint})` : ''
    throw new ConfigError('sql_rejected', `SQL: ${errorLine(error)}${hint}`, { cause: error })
  }
}
