import type { Account } from '../accounts.ts'
import type { UnreadableLoginError } from './unreadable-login-error.ts'

/** An access token with the refresh token that was issued beside it. */
export type TokenPair = { accessToken: string; refreshToken: string; obtainedAt: Date; expiresAt: Date }

/** All that is known for signing an account in. `failures` counts refreshes that failed in a row. */
export type Credentials = TokenPair & {
  clientId: string
  clientSecret: string
  username: string | undefined
  password: string | undefined
  /** of the service that made them (`https://host:port`); they are shown to no other */
  origin: string
  needsLogin: boolean
  failures: number
  notBefore: Date | undefined
}

/** An account's credentials while its row is locked: no other process changes them meanwhile. */
export type HeldCredentials = {
  /** as they are under the lock; undefined when the account was never signed in */
  credentials: Credentials | undefined
  /** Keeps a new pair; it is safe on disk when this resolves, also when the database is not there to take it. */
  save(pair: TokenPair): Promise<void>
  /** Marks the account as in need of a login. */
  park(reason: string): Promise<void>
  /** Counts a failed refresh, not to be tried again before `notBefore`. */
  recordFailure(input: { notBefore: Date; reason: string }): Promise<void>
}

/** What a login hands over; the password only when the user asked to keep it. */
export type Login = {
  clientId: string
  clientSecret: string
  pair: TokenPair
  username?: string | undefined
  password?: string | undefined
}

type TokenVault = {
  /**
   * Reads the credentials of an account, from the spool while the database is away; undefined before a login. Throws
   * UnreadableLoginError for this account's tokens alone.
   */
  read(accountId: number): Promise<Credentials | undefined>
  /**
   * Runs `use` while the account's row is locked, one process at a time, and commits before it resolves. What `use`
   * saved or parked is kept also when it throws. Waits up to 90 s for the lock, then throws TransientError.
   */
  locked<T>(accountId: number, use: (held: HeldCredentials) => Promise<T>): Promise<T>
}

export type Vault = TokenVault & {
  /**
   * Keeps a fresh login in place of whatever was there, and makes the account or gives it its new address, in one transaction:
   * tokens and the address that they may be sent to never part. A login of another rider, or at another address, is mirrored from
   * the beginning. Waits up to 90 s for a refresh that is under way, then throws TransientError and has changed nothing.
   */
  saveLogin(account: { name: string; baseUrl: string }, login: Login): Promise<Account>
  /** Forgets the tokens of an account; the mirror stays. */
  forget(accountId: number): Promise<void>
  /**
   * Parks an account whose tokens cannot be read, with the error's sentence in its row, and logs it once. It ends by itself when
   * they can be read again, or with a login.
   */
  parkUnreadable(error: UnreadableLoginError): Promise<void>
  /** Seals every login with the key that `nextKey` returns; see resealCredentials. */
  rotate(nextKey: (used: ReadonlySet<string>) => Promise<Buffer>): Promise<Resealed>
}

/** How many logins were sealed anew, and those that cannot be read and stayed as they were. */
export type Resealed = { logins: number; unreadable: UnreadableLoginError[] }
