import type { Logger } from 'pino'
import type { Clock } from '../kit/clock.ts'
import type { AccountService } from '../service/service.ts'
import type { Account } from '../store/accounts.ts'
import type { Upkeep } from '../store/samples/upkeep.ts'
import type { Store } from '../store/store.ts'

/** What every use case of this room needs. */
export type MirrorDeps = {
  store: Store
  serviceOf: (account: Account) => AccountService
  upkeep: Upkeep
  log: Logger
  now: Clock
}

/** How an account is mirrored; from the configuration. */
export type MirrorOptions = {
  historyStart: Date
  lagMs: number
  keepRaw: boolean
}
