import { ConfigError, errorCode, TransientError } from '../errors.ts'
import { SECOND } from '../time.ts'

/** Pauses between attempts while no server takes writes, ms. They grow with the time since the first refusal. */
const MIN_PAUSE_MS = 1 * SECOND
export const MAX_PAUSE_MS = 5 * SECOND

/** Error codes if no host is a primary. No job has started then, and a primary may be back soon. */
export const NO_PRIMARY: readonly string[] = ['database_standby', 'database_unfit']
/** Error codes of NO_PRIMARY, and of a primary that takes no writes. */
export const UNFIT: ReadonlySet<string> = new Set([...NO_PRIMARY, 'database_read_only'])

export function refuseServer(server: string | null | undefined, standby = false): TransientError {
  const reason = standby
    ? 'is a read-only standby; set DATABASE_URL to the primary, or promote the standby'
    : 'is read-only because default_transaction_read_only is on; musette continues when it is off'
  const code = standby ? 'database_standby' : 'database_read_only'
  return new TransientError(code, `the Postgres at ${server ?? 'this socket'} ${reason}`)
}

/** Sources of `default_transaction_read_only` in pg_settings that belong to a login's role. */
export const READ_ONLY_ROLE = "'user', 'database user'"

/** Makes the error for a role that is read-only, which waiting does not fix. */
export function refuseReadOnlyRole(cause?: unknown): ConfigError {
  const message =
    'the user in DATABASE_URL is read-only because default_transaction_read_only is on for its role; use another user, or run: musette sql --write "alter role current_user set default_transaction_read_only = off"'
  return new ConfigError('database_role_read_only', message, { cause })
}

/**
 * Makes the state of a pool for servers that take no writes. After a refusal only one connection at a time tries again, after a growing pause;
 * the others get the last error at once, because each attempt may add a line to the server's log.
 */
export function makeRefusals() {
  let [error, since, until]: [unknown, number, number] = [undefined, 0, 0]
  const pause = () => {
    const now = performance.now()
    until = now + Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, (now - since) / 2))
  }
  return {
    assertOver(): void {
      if (error && performance.now() < until) throw error
      pause()
    },
    record(found: unknown): void {
      if (found && !UNFIT.has(errorCode(found))) return
      if (!error) since = performance.now()
      error = found
      pause()
    },
  }
}

/** Returns the error for a session that a pooler opened as another user than the login. */
export function refuseUser(login: string | undefined, sessionUser = 'another user'): ConfigError {
  const message = `login ${login} was refused: the pooler signs in as ${sessionUser} instead; remove user= from this database in its settings`
  return new ConfigError('database_login_refused', message)
}
