import type { TokenPair, TokenVault } from '../service/credentials.ts'
import type { Account } from '../store/account-rows.ts'
import type { UnreadableLoginError } from './seal.ts'

/** The result of a sign-in; the password only when the rider asked for it to be kept. */
export type Login = {
  clientId: string
  clientSecret: string
  pair: TokenPair
  username?: string | undefined
  password?: string | undefined
}

export type Vault = TokenVault & {
  /**
   * Stores a new login in place of an earlier one, and creates the account or updates its base URL, in one transaction, so that
   * tokens and base URL always belong together. Unless the rider is known to be the `same`, and with another base URL, the account is
   * mirrored from the beginning; tokens of an `unknown` one are compared with it before their first use. Waits up to 90 s for a running refresh, then throws TransientError and changes nothing.
   */
  saveLogin(
    account: { name: string; baseUrl: string },
    login: Login,
    rider?: 'same' | 'accepted' | 'unknown',
  ): Promise<Account>
  /** Counts the logins that are readable as they are, and finds the accounts that `read` must look at; see findDoubtfulLogins. */
  findDoubtful(): Promise<{ readable: number; doubtful: number[] }>
  /** Deletes the tokens of an account; its mirrored data stays. */
  forget(accountId: number): Promise<void>
  /**
   * Parks an account whose tokens are unreadable, with the error's message in its row, and logs it once. This ends when they are
   * readable again, or with a login.
   */
  parkUnreadable(error: UnreadableLoginError): Promise<void>
  /** Seals every login with the key that `nextKey` returns; see resealCredentials. */
  rotate(nextKey: (used: ReadonlySet<string>) => Promise<Buffer>): Promise<Resealed>
}

/** The number of logins sealed with the new key, and the errors of unreadable ones, which stayed as they were. */
export type Resealed = { logins: number; unreadable: UnreadableLoginError[] }
