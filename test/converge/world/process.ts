import type { Logger } from 'pino'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { syncActivities } from '../../../src/core/mirror/sync-activities.ts'
import { openService } from '../../../src/core/service/service.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { recordRunsAbandoned } from '../../../src/core/store/runs.ts'
import { makeSamplesVacuum } from '../../../src/core/store/samples/vacuum.ts'
import { openStore } from '../../../src/core/store/store.ts'
import { makeTokenVault } from '../../../src/core/vault/vault.ts'
import { SECOND } from '../../../src/kit/time.ts'
import { IDENTITY } from '../../kit/identity.ts'
import type { HandClock } from './clock.ts'
import { openLine } from './line.ts'

/** Where a process lives: what outlasts it. */
export type Ground = {
  databaseUrl: string
  /** ends every connection to the database at its side, but the test's own */
  terminate: () => Promise<void>
  serviceUrl: string
  spoolDir: string
  secretKey: Buffer
  clock: HandClock
  lagMs: number
  historyStart: Date
  log: Logger
}

/** Hears of each request of the mirror for a list, or for the activity of `path`; the request, or its answer, waits for it. */
export type Around = (when: 'before' | 'after', path: string | undefined) => Promise<void>

/** One process of the mirror, with all it remembers, on a line to the database that can break. */
export type MirrorProcess = Awaited<ReturnType<typeof openProcess>>

type PassWish = {
  account: Account
  concurrency: number
  /** reconciles, too */
  full: boolean
  acceptRemovals?: boolean
  around?: Around
  signal?: AbortSignal
}

export const RIDER = 'rider'
/** While things go wrong, an answer that does not come is not waited for longer than this. */
const IMPATIENT_MS = SECOND / 4

/** Starts a process. An impatient one gives an answer a quarter of a second, the others as long as they take. */
export async function openProcess(ground: Ground, { impatient }: { impatient: boolean }) {
  const { clock, log, lagMs, historyStart, serviceUrl } = ground
  const line = await openLine(ground.databaseUrl, ground.terminate)
  const store = openStore({ log }, { connectionString: line.url, maxConnections: 8 })
  const vacuum = makeSamplesVacuum({ store, log })
  const vault = makeTokenVault(
    { store, log },
    { secretKey: ground.secretKey, spoolDir: ground.spoolDir, ...IDENTITY },
  )
  const service = openService(
    { vault, log, now: clock.own, sleep: clock.sleep },
    {
      concurrency: 4,
      requestsPerMinute: 1_000_000,
      userAgent: 'converge',
      ...(impatient && { timeouts: { totalMs: IMPATIENT_MS, tokenMs: IMPATIENT_MS } }),
    },
  )
  const options = { historyStart, lagMs, keepRaw: true }
  const { listDefaultWorkouts } = service
  const parts = { store, listDefaultWorkouts, onWorkouts: [], vacuum, log, now: clock.own, options }
  const client = { baseUrl: serviceUrl, clientId: 'service_public', clientSecret: 'service_public' }
  return {
    line,
    async signIn(): Promise<Account> {
      const pair = await service.requestLogin(client, { type: 'password', username: RIDER, password: RIDER })
      const { baseUrl, clientId, clientSecret } = client
      // Whoever signs in again by the same user name is the same rider.
      return await vault.saveLogin({ name: 'default', baseUrl }, { clientId, clientSecret, pair }, 'same')
    },
    /** polls the list and fetches nothing, as the job does */
    async poll(account: Account) {
      const serviceOf = (of: Account) => service.forAccount(of)
      await pollActivities({ ...parts, serviceOf }, { account })
    },
    async pass({ around, ...wish }: PassWish) {
      const within = async <T>(path: string | undefined, call: () => Promise<T>): Promise<T> => {
        await around?.('before', path)
        const answer = await call()
        await around?.('after', path)
        return answer
      }
      const serviceOf = (of: Account) => {
        const real = service.forAccount(of)
        return {
          ...real,
          listActivities: (...args: Parameters<typeof real.listActivities>) =>
            within(undefined, () => real.listActivities(...args)),
          fetchActivity: (...args: Parameters<typeof real.fetchActivity>) =>
            within(args[0], () => real.fetchActivity(...args)),
        }
      }
      const { accountId } = wish.account
      await store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore: new Date(), accountId }))
      await syncActivities({ ...parts, serviceOf }, wish)
    },
    async close() {
      await service.close()
      await store.close()
      await line.close()
    },
  }
}
