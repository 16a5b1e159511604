import pg from 'pg'
import { TransientError } from './errors.ts'

/** libpq's name and value for it, so that a DATABASE_URL can ask for the same. */
const SCRAM_ONLY = /[?&]require_auth=scram-sha-256(?:&|$)/

/** Messages of a server that show it the password, or something that it can compute the password from. */
const SHOWS_PASSWORD: ReadonlySet<unknown> = new Set([
  'authenticationCleartextPassword',
  'authenticationMD5Password',
])
/** Messages of a server that has accepted the client, and must have proved itself before. */
const ACCEPTS_CLIENT: ReadonlySet<unknown> = new Set(['authenticationOk', 'readyForQuery'])

/**
 * The client of every connection to Postgres, also in pools. Where the URL says `require_auth=scram-sha-256`, it sends the
 * password in no other way than SCRAM, by which the server proves that it knows the password, too (RFC 5802): another
 * program on the server's port learns nothing. The connection then fails with TransientError `database_untrusted`.
 */
export class PostgresClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    super(config)
    if (SCRAM_ONLY.test(config.connectionString ?? '')) requireScram(this)
  }
}

/**
 * Ends a pool, which waits for the work that its connections do. What happens to a connection from then on is no news: the
 * server may go as soon as this is done, and says so to connections that are still on their way out.
 */
export async function endPool(pool: pg.Pool): Promise<void> {
  pool.removeAllListeners('error').on('error', () => undefined)
  await pool.end()
}

/** The driver has no option for this; it hears every message of the server as an event of its connection. */
function requireScram({ connection, host, port }: pg.Client): void {
  const emit = connection.emit.bind(connection)
  let proved = false
  let failed = false
  connection.emit = (event, ...values) => {
    if (event === 'error') failed = true
    // What a refused server has sent in the same breath must not complete the connection.
    if (failed) return event === 'error' || event === 'end' ? emit(event, ...values) : false
    if (SHOWS_PASSWORD.has(event) || (ACCEPTS_CLIENT.has(event) && !proved)) {
      failed = true
      connection.stream.destroy()
      return emit('error', untrusted(host, port))
    }
    const heard = emit(event, ...values)
    if (event === 'authenticationSASLFinal') proved = !failed
    return heard
  }
}

function untrusted(host: string, port: number): TransientError {
  return new TransientError(
    'database_untrusted',
    `what answers at ${host}:${port} did not prove by SCRAM that it is the database, so it was not sent the password; ` +
      'end the program that listens there, then run it again',
  )
}
