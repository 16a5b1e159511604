/** How one account stands; ages are told from the times when the page is asked for. */
export type AccountFigures = {
  account: string
  needsLogin: boolean
  /** when the list was last polled to its end; null: never */
  polledAt: Date | null
  /** of the access token; null when nobody has signed in */
  token: { obtainedAt: Date; expiresAt: Date; refreshFailures: number } | null
}

/** How many of something an account has in each state. */
export type StateCount = { account: string; state: string; count: number }

/** What the database says at one moment. */
export type DatabaseFigures = {
  accounts: readonly AccountFigures[]
  activities: readonly StateCount[]
  /** activities never fetched yet, by account */
  backfillToGo: ReadonlyArray<{ account: string; count: number }>
  uploads: readonly StateCount[]
  /** what waits in the drop folders, by the reason's code */
  waitingFiles: ReadonlyArray<{ code: string; count: number }>
  samplesBytes: number
  databaseBytes: number
}

/** Jobs by queue and state, and the names of the queues that are paused. */
export type QueueFigures = Readonly<{
  jobs: Readonly<Record<string, Readonly<Record<string, number>>>>
  paused: readonly string[]
}>

/** What is read when the page is asked for; undefined: that part does not answer now. */
export type Figures = { database: DatabaseFigures | undefined; queue: QueueFigures | undefined }

/** One unit of mirroring that has come to its end. */
export type EndedRun = { resource: string; kind: string; outcome: string; seconds: number }
