import { connectReason, isNotUpYet } from '../kit/errors.ts'
import { withClient } from '../kit/postgres-client.ts'
import { joinSignals, waitFor } from '../kit/time.ts'
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
  try {
    const config = { connectionString, application_name: 'musette', connectionTimeoutMillis: withinMs }
    await waitFor(
      withClient(config, (client) => client.query('')),
      ended.signal,
    )
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    if (ended.isOver()) return 'no answer'
    if (isNotUpYet(error)) return connectReason(error)
    throw mapDatabaseError(error, 'connect')
  } finally {
    ended.clear()
  }
}
