import pg from 'pg'
import { PostgresClient } from '../../kit/postgres-client.ts'
import { SECOND, within } from '../../kit/time.ts'
import { mapDatabaseError } from '../database-errors.ts'
import { type Part, runStatement } from './statement.ts'

/** A connection for statements that a person or another program wrote. */
type Connection = {
  /** Runs a text; the answer comes part by part, as `runStatement` tells. */
  run(text: string, signal?: AbortSignal): AsyncGenerator<Part, void, undefined>
  /** Ends what runs, rolls back what is not committed, and closes. Never throws. */
  close(): Promise<void>
}

type ConnectionOptions = {
  connectionString: string
  applicationName: string
  signal?: AbortSignal | undefined
}

const CONNECT_WITHIN_MS = 15 * SECOND
const CLOSE_WITHIN_MS = 2 * SECOND

/** Settings that apply unless the URL's own `options` set them. */
const SETTINGS: ReadonlyArray<readonly [name: string, value: string]> = [
  ['search_path', 'training,public'],
  ['TimeZone', 'UTC'],
  // A person may take long between two pages.
  ['idle_in_transaction_session_timeout', '0'],
]

// SELECT takes a snapshot; after that no statement can make the transaction writable.
const BEGIN_GUARDED = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT'

/**
 * Opens a connection that only reads. Each `run` takes one statement, and runs it in a read-only transaction that has
 * already read, so that neither the statement nor the settings of the session, the user or the URL can make it
 * writable; the server refuses a second statement in the same text. Statements share the transaction, and see one moment, until
 * one of them ends it. It guards the database against statements that write, and not against the powers of a
 * superuser, such as COPY … TO PROGRAM: statements of untrusted people also need a login without them. Throws what the store throws.
 */
export async function openGuardedConnection(options: ConnectionOptions): Promise<Connection> {
  return makeConnection(await connect(options), { settings: SETTINGS, guarded: true })
}

/** Opens a connection that may write; `run` takes any number of statements, which are one transaction unless they say otherwise. */
export async function openWritableConnection(options: ConnectionOptions): Promise<Connection> {
  const settings = [...SETTINGS, ['default_transaction_read_only', 'off'] as const]
  return makeConnection(await connect(options), { settings, guarded: false })
}

function makeConnection(
  client: pg.Client,
  { settings, guarded }: { settings: typeof SETTINGS; guarded: boolean },
): Connection {
  let prepared = false
  return {
    async *run(text, signal) {
      if (!prepared) await execute(client, settingsOf(settings), signal)
      prepared = true
      if (guarded) await execute(client, guardOf(client), signal)
      yield* runStatement(client, { text, protocol: guarded ? 'extended' : 'simple', signal })
    },
    close: () => close(client),
  }
}

async function connect(options: ConnectionOptions): Promise<pg.Client> {
  const { connectionString, applicationName, signal } = options
  signal?.throwIfAborted()
  let client: pg.Client | undefined
  const stop = () => client?.connection.stream.destroy()
  signal?.addEventListener('abort', stop)
  try {
    client = new PostgresClient({
      connectionString,
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      keepAlive: true,
    })
    // A connection that breaks while idle is reported by the next statement.
    client.on('error', () => undefined)
    await client.connect()
    return client
  } catch (error) {
    stop()
    signal?.throwIfAborted()
    throw mapDatabaseError(error, 'connect')
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

// As statements, not as startup options: these would replace the `options` of the URL, and poolers refuse them. The driver
// reads every text as UTF-8.
function settingsOf(settings: typeof SETTINGS): string {
  const values = settings.map((pair) => `(${pair.map((text) => pg.escapeLiteral(text)).join(', ')})`)
  return `SET client_encoding = 'UTF8';
    SELECT set_config(name, value, false) FROM (VALUES ${values.join(', ')}) AS ours (name, value)
    JOIN pg_catalog.pg_settings USING (name) WHERE source <> 'client'`
}

// A statement may have ended the transaction, or, with AND CHAIN, begun another read-only one that has not read yet.
function guardOf(client: pg.Client): string {
  const status = client.getTransactionStatus()
  if (status === 'T') return 'SELECT'
  return status === 'E' ? `ROLLBACK; ${BEGIN_GUARDED}` : BEGIN_GUARDED
}

async function execute(client: pg.Client, text: string, signal?: AbortSignal): Promise<void> {
  for await (const _ of runStatement(client, { text, protocol: 'simple', signal }));
}

async function close(client: pg.Client): Promise<void> {
  const closed = await within(client.end(), CLOSE_WITHIN_MS).catch(() => false)
  if (!closed) client.connection.stream.destroy()
}
