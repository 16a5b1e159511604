import { CredentialsRejectedError, TransientError } from '../../kit/errors.ts'
import { loginCommand } from '../../kit/login-command.ts'

/** An account as the session knows it; `queue` is its place in the pacer's round. */
export type SessionAccount = { accountId: number; name: string; baseUrl: string; queue: string }

/** The error of an account that only a person can bring back, with the command that does. */
export function loginEnded(account: { name: string }, code: 'needs_login' | 'token_refused' = 'needs_login') {
  return new CredentialsRejectedError(
    code,
    `login of account "${account.name}" has ended; run: ${loginCommand(account.name)}`,
  )
}

/** The error of an account without a usable token while a refresh has failed or must wait. */
export function refreshPending(account: { name: string }, cause?: unknown): TransientError {
  const text = `tokens of account "${account.name}" could not be refreshed yet; the next attempt comes by itself`
  return new TransientError('refresh_pending', text, cause === undefined ? {} : { cause })
}
