import type { Logger } from 'pino'
import type { LogOnce } from '../../kit/log-once.ts'
import type { Semaphore } from '../../kit/semaphore.ts'
import type { Clock } from '../../kit/time.ts'
import type { AccountService } from '../service/service.ts'
import type { Account } from '../store/account-rows.ts'
import type { Store } from '../store/store.ts'

/** An activity in the service's list, with the facts that identify its file. */
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
  problems: LogOnce
  /** the memory budget, bytes, that all files share while they are sent */
  memory: Semaphore
  now: Clock
  keepFit: boolean
  /** how long a file must rest after its recording, ms */
  settleMs: number
  /** what to do with a file whose ride the mirror already has */
  knownActivities: 'attach' | 'send'
  /** called for a newly wanted activity; a failure loses nothing, because the row stays wanted */
  onWanted: (activity: { accountId: number; activityId: number }) => Promise<unknown> | undefined
}
