/**
 * The tokens of one grant (service document, "Token response"), with their times by this machine's clock. The access token is ''
 * where the service sent none that can be used.
 */
export type TokenPair = { accessToken: string; refreshToken: string; obtainedAt: Date; expiresAt: Date }

/** Everything that is stored for signing an account in. */
export type Credentials = TokenPair & {
  clientId: string
  clientSecret: string
  username: string | undefined
  /** only when the rider asked for it to be kept */
  password: string | undefined
  /** the service that issued the tokens (`https://host:port`); they are sent to no other */
  origin: string
  /** the login has ended; only a person can sign in again */
  needsLogin: boolean
  /** refresh or login attempts that failed in a row */
  failures: number
  /** no attempt before this moment; remembered across restarts */
  notBefore: Date | undefined
  /** these tokens were compared with the account: they belong to the rider of its activities */
  isRiderCompared: boolean
} & Refusals

/** Where somebody signs in, with the user name when it is known. */
export type NamedLogin = { origin: string; username?: string | undefined }

/** What tells whose account it is: the paths of its newest activities, with the time in which they are listed. */
export type RiderEvidence = {
  paths: string[]
  from: Date | null
  to: Date | null
  /** whether the account has training info of a rider */
  holdsRows: boolean
  /** whether the user name of a login is that of the last one; `unknown` without a name or its key */
  name: 'same' | 'other' | 'unknown'
}

/** New tokens in a row that the service refused, each just made, and when the first of them was. */
export type Refusals = { refusals: number; refusedSince: Date | undefined }

/** An account's credentials while its row is locked, so that no other process can change them. */
export type HeldCredentials = {
  /** as stored at the moment of the lock; undefined when the account was never signed in */
  credentials: Credentials | undefined
  /**
   * Stores a new pair, clears `notBefore`, without refusals `needsLogin`, too, and sets `failures`, by default to 0. The pair is on
   * the disk when this resolves, even when the database cannot be written.
   */
  save(pair: TokenPair, failures?: number): Promise<void>
  /** Sets `needsLogin`, with the reason for a person to read, and ends the count of refusals. */
  park(reason: string): Promise<void>
  /** Sets the count of refusals and what follows from it; `reason` is for a person to read. */
  recordRefusals(
    input: Refusals & Pick<Credentials, 'needsLogin' | 'notBefore'> & { reason: string | null },
  ): Promise<void>
  /** Records whose tokens these are; those of another rider park the account with the reason. */
  recordRider(input: { isOther: boolean; reason: string | null }): Promise<void>
  /** Counts a failed attempt; no other is made before `notBefore`. */
  recordFailure(input: { notBefore: Date; reason: string }): Promise<void>
}

/** The part of the vault that the service's client uses. */
export type TokenVault = {
  /**
   * Reads the credentials of an account, from the spool while the database is away; undefined before a login. Throws
   * UnreadableLoginError for this account's tokens alone.
   */
  read(accountId: number): Promise<Credentials | undefined>
  findEvidence(accountId: number, login?: NamedLogin): Promise<RiderEvidence>
  /**
   * Runs `use` while the account's row is locked, one process at a time, and commits before it resolves. What `use`
   * saved or parked is kept also when it throws. Waits up to 90 s for the lock, then throws TransientError.
   */
  locked<T>(accountId: number, use: (held: HeldCredentials) => Promise<T>): Promise<T>
}

/** An account with its queue in the pacer. */
export type LoginAccount = { accountId: number; name: string; baseUrl: string; queue: string }
