/** The tokens of one grant, with times by this machine's clock. The access token is '' if the service sent no usable token. */
export type TokenPair = { accessToken: string; refreshToken: string; obtainedAt: Date; expiresAt: Date }

/** Everything that is stored for an account's login. */
export type Credentials = TokenPair & {
  clientId: string
  clientSecret: string
  username: string | undefined
  /** only if the rider asked to keep it */
  password: string | undefined
  /** the service that issued the tokens (`https://host:port`); musette sends them only there */
  origin: string
  /** the login has ended; only a person can sign in again */
  needsLogin: boolean
  /** consecutive failed refresh or login attempts */
  failures: number
  /** no attempt before this time, even after a restart */
  notBefore: Date | undefined
  /** these tokens were checked: they belong to the rider of the account's activities */
  isRiderCompared: boolean
} & Refusals

/** The service where a person signs in, and the user name if known. */
export type NamedLogin = { origin: string; username?: string | undefined }

/** Evidence of an account's rider: the paths of the newest activities, and the time span in which to list them. */
export type RiderEvidence = {
  paths: string[]
  from: Date | null
  to: Date | null
  /** whether the account has a rider's training info */
  holdsRows: boolean
  /** whether a login has the same user name as the last login; `unknown` if the name or its key is missing */
  name: 'same' | 'other' | 'unknown'
}

/** How many consecutive new tokens the service rejected, and the time since which it rejects or does not issue tokens without giving a reason. */
export type Refusals = { refusals: number; refusedSince: Date | undefined }

/** An account's credentials while its row is locked, so no other process can change them. */
export type HeldCredentials = {
  /** as stored when the lock was taken; undefined if the account never signed in */
  credentials: Credentials | undefined
  /**
   * Stores a new pair. Clears `notBefore`, and `needsLogin` and `refusedSince` unless new tokens were rejected. Sets `failures` (default 0).
   * The pair is on the disk once the promise resolves, even if the database cannot be written.
   */
  save(pair: TokenPair, failures?: number): Promise<void>
  /** Sets `needsLogin` with a reason for a person, and resets the count of rejected tokens. */
  park(reason: string): Promise<void>
  /** Sets the count of rejected tokens or failed attempts, and the resulting state; `reason` is for a person. */
  recordState(
    input: Pick<Credentials, 'needsLogin' | 'notBefore' | 'refusedSince'> &
      Partial<Pick<Credentials, 'refusals' | 'failures'>> & { reason: string | null },
  ): Promise<void>
  /** Records whether these tokens belong to the account's rider; if not, parks the account with the reason. */
  recordRider(input: { isOther: boolean; reason: string | null }): Promise<void>
}

/** The part of the vault that the service's client uses. */
export type TokenVault = {
  /** Reads an account's credentials, from the spool if the database is down; undefined before a login. Throws UnreadableLoginError. */
  read(accountId: number): Promise<Credentials | undefined>
  findEvidence(accountId: number, login?: NamedLogin): Promise<RiderEvidence>
  /**
   * Runs `use` while the account's row is locked for one process, and commits before it resolves. Keeps what `use` saved or parked even if it
   * throws. Waits up to 90 s for the lock, then throws TransientError.
   */
  locked<T>(accountId: number, use: (held: HeldCredentials) => Promise<T>): Promise<T>
}

/** An account with its queue in the pacer. */
export type LoginAccount = { accountId: number; name: string; baseUrl: string; queue: string }
