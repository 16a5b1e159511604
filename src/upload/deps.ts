import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { ByteBudget } from '../kit/byte-budget.ts'
import type { Clock } from '../kit/clock.ts'
import type { LogOnce } from '../kit/log-once.ts'
import type { AccountService } from '../service/service.ts'
import type { Account } from '../store/accounts.ts'
import type { Store } from '../store/store.ts'

/** An activity that the service lists, as far as it tells which file it came from. */
export type Listed = { path: string; name: string | null; startedAt: Date | null }

export type UploadDeps = {
  store: Store
  serviceOf: (account: Account) => AccountService
  /** lists the activities that started in a span (service document, endpoint 9) */
  listStarted: (
    account: Account,
    span: { from: Date; to: Date },
    signal: AbortSignal | undefined,
  ) => Promise<Listed[]>
  log: Logger
  /** says repeated problems once */
  trouble: LogOnce
  /** shares what files may hold of memory while they are sent */
  memory: ByteBudget
  now: Clock
  /** hears of an activity that is wanted now; a failure of it loses nothing, the row stays wanted */
  onWanted?: (activity: { accountId: number; activityId: number }) => Promise<void>
}

/** A whole FIT activity to send; `contentId` is the SHA-256 of its bytes in hex, `open` reads it anew for each try. */
export type FitFile = {
  fileName: string
  contentId: string
  sizeBytes: number
  startedAt: Date | null
  open: () => Readable
}
