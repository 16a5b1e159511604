/** The tokens of one grant, with times by this machine's clock. The access token is '' when the service sent no usable one. */
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

/** Evidence of the rider: the paths of the account's newest activities, and the span in which to list them. */
export type RiderEvidence = {
  paths: string[]
  from: Date | null
  to: Date | null
  /** whether the account has training info of a rider */
  holdsRows: boolean
  /** whether a login has the user name of the last one; `unknown` without a name or its key */
  name: 'same' | 'other' | 'unknown'
}

/** How many new tokens in a row the service refused, and since when it refuses them, or to make them, without a reason. */
export type Refusals = { refusals: number; refusedSince: Date | undefined }

/** An account's credentials while its row is locked, so that no other process can change them. */
export type HeldCredentials = {
  /** as stored at the moment of the lock; undefined when the account was never signed in */
  credentials: Credentials | undefined
  /**
   * Stores a new pair; clears `notBefore`, and `needsLogin` and `refusedSince` unless new tokens were refused; sets `failures`, by default
   * to 0. The pair is on the disk when this resolves, even when the database cannot be written.
   */
  save(pair: TokenPair, failures?: number): Promise<void>
  /** Sets `needsLogin` with the reason for a person, and resets the count of refusals. */
  park(reason: string): Promise<void>
  /** Sets the count of refused tokens or of failed attempts, and the state that follows from it; `reason` is for a person. */
  recordState(
    input: Pick<Credentials, 'needsLogin' | 'notBefore' | 'refusedSince'> &
      Partial<Pick<Credentials, 'refusals' | 'failures'>> & { reason: string | null },
  ): Promise<void>
  /** Records whether these are the rider's tokens; those of another rider park the account with the reason. */
  recordRider(input: { isOther: boolean; reason: string | null }): Promise<void>
}

/** The part of the vault that the service's client uses. */
export type TokenVault = {
  /** Reads an account's credentials, without the database from the spool; undefined before a login. Throws its UnreadableLoginError. */
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
