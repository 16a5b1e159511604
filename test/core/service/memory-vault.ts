import type {
  Credentials,
  HeldCredentials,
  TokenPair,
  TokenVault,
} from '../../../src/core/service/credentials.ts'

export type MemoryVault = TokenVault & {
  rows: Map<number, Credentials>
  /** what was written, in order: `save`, `park`, `failure`, `refusals` */
  writes: string[]
  /** the reasons that `park` and `recordState` stored for a person */
  reasons: string[]
}

/** Makes a login as a vault stores it: valid for seven days from `obtainedAt`. */
export function makeCredentials(obtainedAt: Date, changes: Partial<Credentials> = {}): Credentials {
  return {
    clientId: 'service_public',
    clientSecret: 'service_public',
    accessToken: 'access-0',
    refreshToken: 'refresh-0',
    obtainedAt,
    expiresAt: new Date(obtainedAt.getTime() + 604_800_000),
    username: undefined,
    password: undefined,
    origin: 'https://service.test',
    needsLogin: false,
    failures: 0,
    notBefore: undefined,
    isRiderCompared: true,
    refusals: 0,
    refusedSince: undefined,
    ...changes,
  }
}

/** Makes a vault in memory whose lock is a queue per account. */
export function makeMemoryVault(rows: Record<number, Credentials> = {}): MemoryVault {
  const stored = new Map(Object.entries(rows).map(([id, row]) => [Number(id), row]))
  const tails = new Map<number, Promise<unknown>>()
  const writes: string[] = []
  const reasons: string[] = []

  const change = (accountId: number, changes: Partial<Credentials>, write: string): void => {
    const row = stored.get(accountId)
    if (row) stored.set(accountId, { ...row, ...changes })
    writes.push(write)
  }

  const hold = (accountId: number): HeldCredentials => ({
    credentials: stored.get(accountId),
    async save(pair: TokenPair, failures = 0) {
      const row = stored.get(accountId)
      const kept = row?.refusals ? row : { needsLogin: false, refusedSince: undefined }
      const { needsLogin, refusedSince } = kept
      change(accountId, { ...pair, needsLogin, refusedSince, failures, notBefore: undefined }, 'save')
    },
    async park(reason) {
      reasons.push(reason)
      change(accountId, { needsLogin: true, refusals: 0, refusedSince: undefined }, 'park')
    },
    async recordState({ reason, ...changes }) {
      if (reason !== null) reasons.push(reason)
      change(accountId, changes, changes.failures === undefined ? 'refusals' : 'failure')
    },
    async recordRider({ isOther, reason }) {
      if (reason !== null) reasons.push(reason)
      change(accountId, isOther ? { needsLogin: true } : { isRiderCompared: true }, 'rider')
    },
  })

  return {
    rows: stored,
    writes,
    reasons,
    async read(accountId) {
      return stored.get(accountId)
    },
    async findEvidence() {
      return { paths: [], from: null, to: null, holdsRows: false, name: 'unknown' }
    },
    locked(accountId, use) {
      const before = tails.get(accountId) ?? Promise.resolve()
      const run = before.then(() => use(hold(accountId)))
      tails.set(
        accountId,
        run.catch(() => undefined),
      )
      return run
    },
  }
}
