/** Tokens as a token grant gives them (service document, "Token response"), with their times by our clock. */
export type TokenPair = { accessToken: string; refreshToken: string; obtainedAt: Date; expiresAt: Date }

/** What is kept of an account's login. */
export type Credentials = {
  clientId: string
  clientSecret: string
  accessToken: string
  refreshToken: string
  obtainedAt: Date
  expiresAt: Date
  username: string | undefined
  /** only when the rider asked for it to be kept */
  password: string | undefined
  /** of the service that made them (`https://host:port`); they are shown to no other */
  origin: string
  /** the login has ended; only a person can begin a new one */
  needsLogin: boolean
  /** refresh or login attempts that failed in a row */
  failures: number
  /** no attempt before this moment; remembered across restarts */
  notBefore: Date | undefined
}

/** Credentials under the account's lock, as they are stored at that moment. */
export type HeldCredentials = {
  credentials: Credentials | undefined
  /** Stores a new pair, and clears `needsLogin`, `failures` and `notBefore`; durable once `locked` resolves. */
  save(pair: TokenPair): Promise<void>
  /** Sets `needsLogin`, with the reason for a person to read. */
  park(reason: string): Promise<void>
  /** Counts a failed attempt, and when the next one may be made. */
  recordFailure(input: { notBefore: Date; reason: string }): Promise<void>
}

/** Where logins are kept; the store has one on Postgres. */
export type TokenVault = {
  read(accountId: number): Promise<Credentials | undefined>
  /** Runs `use` while no other process can hold the same account's credentials. */
  locked<T>(accountId: number, use: (held: HeldCredentials) => Promise<T>): Promise<T>
}
