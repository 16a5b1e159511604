import { getTableColumns } from 'drizzle-orm'
import pg from 'pg'
import type { Logger } from 'pino'
import { empty, mapDatabaseError } from '../../core/store/database-errors.ts'
import { fitRecords, samples } from '../../core/store/schema/index.ts'
import { ConfigError, errorCode, errorLine, isAbort } from '../../kit/errors.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { findMismatch, openDatabase } from '../../program/app/open-database.ts'
import type { Config } from '../../program/config/config.ts'
import { widthOf } from '../../program/frame/output.ts'
import {
  type ConnectionOptions,
  type Notice,
  openGuardedConnection,
  openWritableConnection,
  type Remarks,
} from '../../program/query/connection.ts'
import { loginOptions, makeReadingSessions } from '../../program/query/reading-session.ts'
import type { Field, Part, Row } from '../../program/query/statement.ts'
import { splitStatements } from './split-statements.ts'

export type Queries = {
  /**
   * Runs the statements of a text in order and yields the parts of their results, in constant memory. An abort cancels the statement at the
   * server and throws the signal's reason. If the text is psql's `\\d` or `\\d NAME`, yields the tables or the columns from the catalog.
   * Throws ConfigError `sql_rejected` with Postgres's message, and the store's errors.
   */
  run(text: string, signal?: AbortSignal): AsyncGenerator<Part, void, undefined>
  /** Rolls back uncommitted changes and closes the connection. Never throws. */
  close(): Promise<void>
}

/** The whole result of one statement. `fields` is empty if the statement returns no rows, like SET. `command` is its tag: `SELECT 12`. */
export type QueryResult = { command: string; fields: readonly Field[]; rows: Row[] }

type QueriesOptions = {
  connectionString: string
  write: boolean
  /** opens the connection; undefined: connects as the user of the URL */
  open?: (options: ConnectionOptions) => ReturnType<typeof openGuardedConnection>
  signal?: AbortSignal | undefined
  /** gets each notice and warning of a statement */
  onNotice?: ((notice: Notice) => void) | undefined
}

/**
 * Opens a connection for SQL that a person typed; starts the embedded Postgres if it is not running. With `write`, the connection has the
 * owner's rights; without, those of a login that reads schema training (see makeReadingSessions). Warns if the database has another schema
 * version; does not open a newer embedded database for writing.
 */
export async function openDatabaseQueries(
  config: Config,
  log: Logger,
  options: { write: boolean; signal?: AbortSignal; onNotice?: (notice: Notice) => void },
): Promise<Queries> {
  const { write, signal, onNotice } = options
  const database = await openDatabase(config, log, signal, write ? 'check' : 'read')
  try {
    const connectionString = database.url
    const find = async () => ({ ...loginOptions(config), connectionString })
    const { open } = makeReadingSessions({ log, readers: 'people', find })
    const [queries, mismatch] = await Promise.all([
      openQueries({ ...options, connectionString, ...(!write && { open }) }),
      // Connects as the owner, because a reading login does not see the database's schema version.
      findMismatch(connectionString),
    ])
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

const REAL = Object.values({ ...getTableColumns(fitRecords), ...getTableColumns(samples) })
  .flatMap(({ columnType, name }) => (columnType === 'PgReal' ? [name] : []))
  .join('|')
const SUMS_REAL = new RegExp(
  `\\bsum\\s*\\((\\s*(distinct|coalesce\\s*\\())?\\s*(\\w+\\.)?"?(${REAL})"?\\s*[,)]`,
  'i',
)

/**
 * Reports whether SQL seems to sum a column of type real: it names samples or records, and a real column in sum(). avg() needs no warning,
 * because it is exact.
 */
export function sumsReal(text: string): boolean {
  return /(\b|_)(samples|records)\b/i.test(text) && SUMS_REAL.test(text)
}

const OUT_OF_MEMORY = '53200'
const USES_LESS =
  'the statement needs more memory than the server allows: select fewer rows, or do not aggregate them into one value'
const WRITES = 'to allow changes, add --write'
/** By SQLSTATE: read_only_sql_transaction, active_sql_transaction (statements like VACUUM), insufficient_privilege. */
const ADVICE: Readonly<Record<string, string | undefined>> = {
  '25006': WRITES,
  '25001': WRITES,
  '42501':
    "without --write, musette sql can read only schema training; to use the owner's rights, add --write",
}

/**
 * Opens a connection for SQL that a person typed: any number of statements, each with its own result. Without `write` it is read-only,
 * because one mistyped statement could delete the mirror. Throws the store's errors.
 */
export async function openQueries({
  write,
  open = write ? openWritableConnection : openGuardedConnection,
  ...options
}: QueriesOptions): Promise<Queries> {
  const connection = await open({ ...options, applicationName: 'musette sql' })
  async function* runOne(text: string, signal: AbortSignal | undefined) {
    try {
      yield* connection.run(text, { signal })
    } catch (error) {
      throw isAbort(error, signal) ? error : rejected(error, text, write)
    }
  }
  async function* answer(command: string, signal: AbortSignal | undefined) {
    const described = DESCRIBE.exec(command)
    if (!described) throw new ConfigError('sql_rejected', unknownCommand(command))
    const name = described.groups?.name
    let empty = true
    for await (const part of runOne(name === undefined ? TABLES : describe(name), signal)) {
      if (part.kind === 'rows') empty = false
      const message = `SQL: no table or view ${name}; to list them, run: musette sql '\\d'`
      if (part.kind === 'done' && empty && name !== undefined) throw new ConfigError('sql_rejected', message)
      yield part
    }
  }
  return {
    async *run(text, signal) {
      if (text.trim().startsWith('\\')) return yield* answer(text.trim(), signal)
      // With `write`, sends the text as a whole, so that Postgres runs all its statements in one transaction.
      for (const part of write ? [text] : splitStatements(text)) yield* runOne(part, signal)
    },
    close: () => connection.close(),
  }
}

/** Runs the statements of a text and returns their results, which must fit in memory. Throws as `run` does. */
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
  const code = error.code ?? ''
  const advice = code === OUT_OF_MEMORY ? USES_LESS : write ? undefined : ADVICE[code]
  const place = error.internalQuery
    ? placeLines(error.internalQuery, error.internalPosition)
    : placeLines(text, error.position)
  // Shows Postgres's whole message, because it can only quote the statement and data of the person who wrote the statement.
  const lines = [`SQL: ${errorLine(error)}${advice ? `; ${advice}` : ''}`, ...place, ...remarkLines(error)]
  return new ConfigError('sql_rejected', lines.join('\n'), { cause: error })
}

/** How many characters of a line to show around an error in total, and at most before it. */
const SHOWN = { all: 60, before: 40 }

/** Returns the line of an error and a caret line below it, as psql does. Postgres counts `position` in characters from 1. */
function placeLines(text: string, position: string | undefined): string[] {
  if (position === undefined) return []
  const before = [...text].slice(0, Number(position) - 1).join('')
  const from = before.lastIndexOf('\n') + 1
  // The width of a tab depends on the terminal.
  const line = (text.slice(from).split('\n', 1)[0] ?? '').replace(/\t/g, ' ')
  const column = before.length - from
  const start = Math.max(0, Math.min(column - SHOWN.before, line.length - SHOWN.all))
  const end = start + SHOWN.all
  const title = `LINE ${before.split('\n').length}: ${start > 0 ? '...' : ''}`
  const caret = ' '.repeat(widthOf(title + line.slice(start, column)))
  return [`${title}${line.slice(start, end)}${end < line.length ? '...' : ''}`, `${caret}^`]
}

/** Formats Postgres's detail and hint as psql does. */
export function remarkLines({ detail, hint }: Remarks): string[] {
  return [...(detail ? [`DETAIL:  ${detail}`] : []), ...(hint ? [`HINT:  ${hint}`] : [])]
}

/** Reports whether schema training is missing; a reading login can check this too. */
async function isEmpty(queries: Queries): Promise<boolean> {
  const text = "select 1 where to_regnamespace('training') is null"
  const [result] = await collectResults(queries, text).catch(() => [])
  return (result?.rows.length ?? 0) > 0
}

const DESCRIBE = /^\\d\+?(?:\s+(?<name>\S.*?))?\s*;?$/

function unknownCommand(command: string): string {
  const [word = ''] = command.split(/\s/)
  const instead = word === '\\x' ? 'add --expanded; ' : word === '\\copy' ? 'add --csv; ' : ''
  return `SQL: unknown command ${word}: ${instead}\\d lists tables and views, \\d NAME shows the columns of one; for other commands, run: psql "$(musette db-url)"`
}

const TABLES = `SELECT n.nspname AS schema, c.relname AS name,
    CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS type, obj_description(c.oid, 'pg_class') AS comment
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.pg_table_is_visible(c.oid)
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  ORDER BY 1, 2`

// Resolves the name as in a statement: unquoted names fold to lower case, and the schema is optional.
function describe(name: string): string {
  return `SELECT a.attname AS column, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
      CASE WHEN a.attnotnull THEN 'not null' END AS nullable, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS default,
      pg_catalog.col_description(a.attrelid, a.attnum) AS comment
    FROM pg_catalog.pg_attribute a
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = pg_catalog.to_regclass(${pg.escapeLiteral(name)}) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum`
}
