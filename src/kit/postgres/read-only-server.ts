import { ConfigError, errorCode, TransientError } from '../errors.ts'
import { SECOND } from '../time.ts'

/** The pauses between two attempts at servers of which none takes writes, ms: they grow with the time since the first refusal. */
const MIN_PAUSE_MS = 1 * SECOND
export const MAX_PAUSE_MS = 5 * SECOND

/** The codes of connections that no primary has taken; with none of them a job has begun. That may change soon. */
export const NO_PRIMARY: readonly string[] = ['database_standby', 'database_unfit']
/** The same, and a primary that takes no writes. */
export const UNFIT: ReadonlySet<string> = new Set([...NO_PRIMARY, 'database_read_only'])

export function refuseServer(server: string | null | undefined, standby = false): TransientError {
  const reason = standby
    ? 'is a standby and read-only; write the address of the primary into DATABASE_URL, or promote it'
    : 'takes no writes, because default_transaction_read_only is on; musette goes on when it is off'
  const code = standby ? 'database_standby' : 'database_read_only'
  return new TransientError(code, `the Postgres at ${server ?? 'this socket'} ${reason}`)
}

/** The sources of `default_transaction_read_only` in pg_settings that belong to the role of a login. */
export const READ_ONLY_ROLE = "'user', 'database user'"

/** Makes the error of a role that is read-only, which no time mends. */
export function refuseReadOnlyRole(cause?: unknown): ConfigError {
  const message =
    'the user of DATABASE_URL may only read: default_transaction_read_only is on for its role; write another user there, or run: musette sql --write "alter role current_user set default_transaction_read_only = off"'
  return new ConfigError('database_role_read_only', message, { cause })
}

/**
 * Makes the memory of a pool that no server takes writes: then one connection at a time tries, after a growing pause, and the others get
 * the last error at once. Each attempt is a line in the log of a server that logs connections.
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
