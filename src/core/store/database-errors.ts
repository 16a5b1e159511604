import { DrizzleQueryError } from 'drizzle-orm/errors'
import pg from 'pg'
import {
  ConfigError,
  connectReason,
  describeCertificate,
  errorCode,
  errorLine,
  isNotUpYet,
  MusetteError,
  TransientError,
} from '../../kit/errors.ts'
import { isWithoutTls } from '../../kit/postgres-url.ts'

/** The step that failed. After a failed `commit` the changes may be in the database; after the other failed steps the changes are not in the database. */
export type DatabaseStep = 'connect' | 'query' | 'commit'

/** A Postgres error without any values: no parameters, no `detail`, no `where`. It is the `cause` of every Postgres error that leaves the store. */
class PostgresCause extends Error {
  override readonly name = 'PostgresCause'
  readonly sqlstate: string
  readonly constraint: string | undefined
  readonly query: string | undefined

  constructor(error: pg.DatabaseError, query: string | undefined) {
    super(speakableMessage(error))
    this.sqlstate = error.code ?? ''
    this.constraint = error.constraint
    this.query = query?.replace(/\s+/g, ' ').slice(0, 300)
  }
}

// serialization_failure, deadlock_detected, lock_not_available, query_canceled, idle_in_transaction_session_timeout, transaction_timeout
const BUSY: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '57014', '25P03', '25P04'])
/** What a server lacks for a statement, by SQLSTATE: the code of the error, and the beginning of its sentence. */
const LACKS: Readonly<Record<string, readonly [code: string, lack: string]>> = {
  '53100': ['database_disk_full', "the database's disk is full"],
  '53200': ['database_memory', 'the database ran out of memory'],
  '53400': ['database_limit', 'a statement reached a limit that the settings of the database have'],
}
const LOGIN_REFUSED: ReadonlySet<string> = new Set(['28P01', '28000', '3D000'])
/** The end of the driver's message for a URL without a password; the error has no code. */
const WITHOUT_PASSWORD = 'SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'
const NO_SUCH_TABLE: ReadonlySet<string> = new Set(['42P01', '3F000', '42703'])

/**
 * Maps an error that was thrown while a connection to Postgres was in use to an error that may leave the store. Returns MusetteErrors, and
 * errors that do not come from the database, unchanged. `broken` means that the connection is lost, which the driver reports only in the
 * message.
 */
export function mapDatabaseError(error: unknown, step: DatabaseStep, broken = false): unknown {
  if (error instanceof MusetteError) return error
  const query = error instanceof DrizzleQueryError ? error.query : undefined
  const inner = error instanceof DrizzleQueryError ? error.cause : error
  if (inner instanceof MusetteError) return inner
  if (inner instanceof pg.DatabaseError) return mapSqlstate(inner, query, step)
  if (inner instanceof Error && inner.message.endsWith(WITHOUT_PASSWORD)) {
    const message =
      'the database requires a password, but DATABASE_URL has none; write it as postgres://user:password@host:5432/database'
    return new ConfigError('database_login_refused', message)
  }
  if (broken || step === 'connect' || isNotUpYet(inner)) return unreachable(inner, step)
  if (!(error instanceof DrizzleQueryError)) return error
  // The driver throws a plain Error for a lost connection, and TypeError or RangeError for a value that it cannot send.
  if (!(inner instanceof TypeError || inner instanceof RangeError)) return unreachable(inner, step)
  const cause = new Error(`${inner.name} in: ${query?.slice(0, 300)}`)
  return new MusetteError('database_query', 'a query has a value that cannot be sent to the database', {
    cause,
  })
}

/** Returns the SQLSTATE of an error that left the store; undefined if the error does not come from Postgres. */
export function sqlstateOf(error: unknown): string | undefined {
  if (error instanceof PostgresCause) return error.sqlstate
  return error instanceof Error && error.cause !== undefined ? sqlstateOf(error.cause) : undefined
}

function mapSqlstate(error: pg.DatabaseError, query: string | undefined, step: DatabaseStep): MusetteError {
  const sqlstate = error.code ?? ''
  const cause = new PostgresCause(error, query)
  const { message } = cause
  const transient = (code: string, sentence: string) =>
    new TransientError(code, sentence, { cause, requestSent: step === 'commit' })
  const refused = (code: string, sentence: string) => new ConfigError(code, sentence, { cause })
  if (BUSY.has(sqlstate)) return transient('database_busy', `the database is busy: ${message}`)
  if (sqlstate === '53300') {
    const sentence = `the database accepts no more connections: ${message}; close programs that hold connections, or ask an administrator to raise the limit with ALTER ROLE … CONNECTION LIMIT -1, ALTER DATABASE … CONNECTION LIMIT -1 or max_connections`
    return transient('database_full', sentence)
  }
  const [code, lack] = LACKS[sqlstate] ?? []
  if (code) return transient(code, `${lack}: ${message}`)
  // 55000 while connecting: ALTER DATABASE … ALLOW_CONNECTIONS false, for example during a restore.
  if (/^(57P0|53|08|58)/.test(sqlstate) || (step === 'connect' && sqlstate === '55000'))
    return transient('database_unreachable', `the database is unavailable at the moment: ${message}`)
  if (sqlstate === '25006') {
    const sentence = `the database accepts no writes at the moment (${message}); musette continues when it does`
    return transient('database_read_only', sentence)
  }
  // data_corrupted (a page has a wrong checksum) and index_corrupted
  if (/^XX00[12]$/.test(sqlstate))
    return new MusetteError('database_damaged', `the database is damaged: ${message}`, { cause })
  if (NO_SUCH_TABLE.has(sqlstate)) {
    const sentence = 'the database is empty or older than this version; run: musette migrate'
    return refused('database_unmigrated', sentence)
  }
  if (LOGIN_REFUSED.has(sqlstate)) {
    const repair = message.includes('no encryption')
      ? 'add sslmode=require to DATABASE_URL'
      : 'correct DATABASE_URL'
    return refused('database_login_refused', `the database refused the connection: ${message}; ${repair}`)
  }
  if (sqlstate === '42501') {
    const sentence = `the database refused a statement: ${message}; grant that right to the user in DATABASE_URL`
    return refused('database_forbidden', sentence)
  }
  const sentence = `the database reported an error: ${message} (SQLSTATE ${sqlstate})`
  return new MusetteError('database_error', sentence, { cause })
}

/** Returns the error for a database without tables. Verbs that write create the tables. */
export function empty(cause?: unknown): ConfigError {
  const message = 'the database is empty; run: musette login'
  return new ConfigError('database_empty', message, { cause })
}

export function outdated(): ConfigError {
  const message = 'the database is older than this version of musette; run: musette migrate'
  return new ConfigError('database_unmigrated', message)
}

function unreachable(error: unknown, step: DatabaseStep): MusetteError {
  if (errorCode(error) === 'ERR_INVALID_URL') {
    return new ConfigError('database_url_invalid', 'DATABASE_URL is not a URL; correct it')
  }
  const options = { cause: new Error(connectReason(error)), requestSent: step === 'commit' }
  if (step !== 'connect')
    return new TransientError('database_unreachable', 'the connection to the database was lost', options)
  const refused = isWithoutTls(error)
    ? 'the database offers no encryption, and sslmode in DATABASE_URL requires it; ask its administrator, or set sslmode=prefer'
    : describeCertificate(error, 'the database', 'DATABASE_URL', 'sslrootcert of DATABASE_URL')
  if (refused) return new TransientError('database_certificate', refused, options)
  const sentence = `the database cannot be reached (${connectReason(error)})`
  return new TransientError('database_unreachable', sentence, options)
}

// Messages of these SQLSTATE classes quote only names. Messages of class 22 and of unknown classes may quote a value.
function speakableMessage(error: pg.DatabaseError): string {
  const sqlstate = error.code ?? ''
  return /^(08|23|25|28|3D|3F|40|42|53|55|57|58|XX00[12])/.test(sqlstate)
    ? errorLine(error)
    : 'Postgres refused a value'
}
