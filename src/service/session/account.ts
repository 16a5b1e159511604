import { CredentialsRejectedError, errorLine, TransientError } from '../../kit/errors.ts'
import { loginCommand } from '../../kit/login-command.ts'
import type { Credentials } from './vault.ts'

/** An account as the session knows it; `queue` is its place in the pacer's round. */
export type SessionAccount = { accountId: number; name: string; baseUrl: string; queue: string }

/** The error of an account that only a person can bring back, with the command that does. */
export function loginEnded(account: { name: string }, code: 'needs_login' | 'token_refused' = 'needs_login') {
  return new CredentialsRejectedError(
    code,
    `login of account "${account.name}" has ended; run: ${loginCommand(account.name)}`,
  )
}

/** The error of an account without a usable token while a refresh has failed (`cause`) or must wait (`until`). */
export function refreshPending(
  account: { name: string },
  { cause, until }: { cause?: unknown; until?: Date } = {},
): TransientError {
  const reason = cause === undefined ? '' : ` (${errorLine(cause)})`
  const next = until ? `; the next attempt comes by itself after ${until.toISOString()}` : ''
  const text = `the tokens of account "${account.name}" could not be refreshed${reason}${next}`
  return new TransientError('refresh_pending', text, cause === undefined ? {} : { cause })
}

/**
 * Keeps tokens of another service from the account's address: the account may be signed in elsewhere since its row was read.
 * Throws TransientError `account_moved`, because who reads the row again finds the new address.
 */
export function assertOrigin(account: SessionAccount, credentials: Credentials): void {
  if (credentials.origin === new URL(account.baseUrl).origin) return
  const message = `account "${account.name}" is signed in at another address since this began; the next attempt goes there`
  throw new TransientError('account_moved', message)
}
