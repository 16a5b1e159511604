import { connectReason, isNotUpYet } from '../kit/errors.ts'
import { dropConnection, PostgresClient } from '../kit/postgres-client.ts'
import { joinSignals } from '../kit/time.ts'
import { mapDatabaseError } from './database-errors.ts'

/**
 * Connects to the database once and ends the connection. Returns undefined when it answers, or in a few words why it is not up
 * yet, also when it has not answered after `withinMs`. Throws what time does not mend, as the store does: ConfigError
 * `database_login_refused` for a wrong password, for instance. Throws the signal's reason at once when it aborts.
 */
export async function findWhyDatabaseIsDown(
  connectionString: string,
  { signal, withinMs }: { signal: AbortSignal; withinMs: number },
): Promise<string | undefined> {
  signal.throwIfAborted()
  const ended = joinSignals([signal], withinMs)
  let client: PostgresClient | undefined
  const drop = () => client && dropConnection(client)
  try {
    client = new PostgresClient({ connectionString, application_name: 'musette' })
    client.on('error', () => undefined)
    ended.signal.addEventListener('abort', drop, { once: true })
    await client.connect()
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    if (ended.isOver()) return 'no answer'
    if (client && isNotUpYet(error)) return connectReason(error)
    throw mapDatabaseError(error, 'connect')
  } finally {
    ended.clear()
    await client?.end().catch(() => undefined)
  }
}
