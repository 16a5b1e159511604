import type pg from 'pg'
import { mapDatabaseError } from '../../core/store/database-errors.ts'
import { dropConnection, PostgresClient } from '../../kit/postgres-client.ts'
import { runStatement, type Statement } from './statement.ts'

/** Details of an error or notice in addition to its message. */
export type Remarks = { detail?: string | undefined; hint?: string | undefined }

/** A message of Postgres in addition to the answer, for example a NOTICE or a WARNING. */
export type Notice = Remarks & { severity: string; message: string }

type RunOptions = Pick<Statement, 'values' | 'maxBytes' | 'signal'>

export type ConnectionOptions = {
  connectionString: string
  /** see ClientConfig */
  onlyAsUser?: boolean | undefined
  applicationName: string
  /** the server's limit for each statement, ms; undefined: the limit of the URL or of the login */
  statementTimeoutMs?: number | undefined
  signal?: AbortSignal | undefined
  onNotice?: ((notice: Notice) => void) | undefined
}

/** Settings that apply unless the URL's own `options` set them; a person may read one page for hours. The search path is not among them, see PostgresClient. */
const SETTINGS = `('TimeZone', 'UTC'), ('idle_in_transaction_session_timeout', '0')`

// The SELECT takes a snapshot; after that, no statement can make the transaction writable.
const BEGIN_GUARDED = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT'

/**
 * Opens a connection that only reads. Each `run` accepts one statement and runs it in a read-only transaction that already has a snapshot,
 * so that neither the statement nor settings of session, user or URL can make it writable. The server refuses a second statement in the same
 * text. All statements share the transaction and its snapshot until a statement ends it. This prevents writes to the database, but not other
 * rights of a superuser, such as COPY … TO PROGRAM: untrusted people also need a login without those rights. Throws the errors of
 * `mapDatabaseError`.
 */
export async function openGuardedConnection(options: ConnectionOptions) {
  const ms = options.statementTimeoutMs
  // These limits override the limits of the URL. The second limit ends the transaction of a process that was stopped during the
  // transaction.
  const limits = ms
    ? `; SET statement_timeout = ${ms}; SET idle_in_transaction_session_timeout = ${2 * ms}`
    : ''
  return makeConnection(await connect(options), { setUp: settingsOf(SETTINGS) + limits, guarded: true })
}

/** Opens a connection that may write. `run` accepts several statements, in one transaction unless they have their own BEGIN or COMMIT. */
export async function openWritableConnection(options: ConnectionOptions) {
  const setUp = settingsOf(`${SETTINGS}, ('default_transaction_read_only', 'off')`)
  return makeConnection(await connect(options), { setUp, guarded: false })
}

/** Makes a connection for statements that a person or another program wrote. */
function makeConnection(client: pg.Client, { setUp, guarded }: { setUp: string; guarded: boolean }) {
  let prepared = false
  return {
    /** Runs a text and yields the parts of its result, as `runStatement` does. */
    async *run(text: string, options: RunOptions = {}) {
      if (!prepared) await execute(client, setUp, options.signal)
      prepared = true
      if (guarded) await execute(client, guardOf(client), options.signal)
      yield* runStatement(client, { ...options, text, protocol: guarded ? 'extended' : 'simple' })
    },
    /** process id of the server backend of this connection */
    serverPid: (client as unknown as { processID: number }).processID,
    /** Ends the running statement, rolls back uncommitted changes and closes the connection. Never throws. */
    close: () => client.end(),
    /** Closes the connection at once, without waiting. */
    destroy: () => dropConnection(client),
  }
}

async function connect(options: ConnectionOptions): Promise<pg.Client> {
  const { connectionString, onlyAsUser, applicationName, signal } = options
  signal?.throwIfAborted()
  let client: pg.Client | undefined
  const stop = () => client && dropConnection(client)
  signal?.addEventListener('abort', stop)
  try {
    client = new PostgresClient({
      connectionString,
      onlyAsUser,
      application_name: applicationName,
      typed: true,
    })
    await client.connect()
    const { onNotice } = options
    if (onNotice)
      client.on('notice', ({ severity = 'NOTICE', message = '', detail, hint }) => {
        onNotice({ severity, message, detail, hint })
      })
    return client
  } catch (error) {
    stop()
    signal?.throwIfAborted()
    throw mapDatabaseError(error, 'connect')
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

// Sets these by statements, because startup options would replace the URL's `options`, and poolers refuse startup options.
function settingsOf(pairs: string): string {
  return `SET search_path = training;
    SELECT set_config(name, value, false) FROM (VALUES ${pairs}) AS ours (name, value)
    JOIN pg_catalog.pg_settings USING (name) WHERE source <> 'client'`
}

// A statement may have ended the transaction, or started another without a snapshot (AND CHAIN).
function guardOf(client: pg.Client): string {
  const status = client.getTransactionStatus()
  if (status === 'T') return 'SELECT'
  return status === 'E' ? `ROLLBACK; ${BEGIN_GUARDED}` : BEGIN_GUARDED
}

async function execute(client: pg.Client, text: string, signal?: AbortSignal): Promise<void> {
  for await (const _ of runStatement(client, { text, protocol: 'simple', signal }));
}
