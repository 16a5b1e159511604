import type { Logger } from 'pino'
import type { LogOnce } from '../kit/log-once.ts'
import type { Semaphore } from '../kit/semaphore.ts'
import { type Backoff, type Clock, DAY, HOUR, MINUTE, SECOND } from '../kit/time.ts'
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
  memory: Semaphore
  now: Clock
  /** hears of an activity that is wanted now; a failure of it loses nothing, the row stays wanted */
  onWanted?: (activity: { accountId: number; activityId: number }) => Promise<void>
}

/** A whole FIT activity to send; `contentId` is the SHA-256 of its bytes in hex. */
export type FitFile = {
  fileName: string
  contentId: string
  startedAt: Date | null
  bytes: Uint8Array
}

/** Pauses before a file is sent again: an outage of hours costs few tries, its end is soon noticed. No last one. */
export const SEND_BACKOFF: Backoff = { firstMs: 5 * SECOND, maxMs: 15 * MINUTE, factor: 3 }
/** Pauses before a file that was refused and still lies in the drop folder, or is there again, is sent again. */
export const AGAIN_BACKOFF: Backoff = { firstMs: 20 * SECOND, maxMs: 1 * DAY, factor: 4 }
/** Pauses between looks for an activity whose upload has lost its answer. */
export const LOOK_BACKOFF: Backoff = { firstMs: 5 * SECOND, maxMs: 5 * MINUTE, factor: 3 }
/** Pauses between looks for what has taken the place of an activity that cannot be fetched. */
export const TWIN_BACKOFF: Backoff = { firstMs: 10 * SECOND, maxMs: 1 * DAY, factor: 4 }
/** How long after a lost answer an activity that is not listed may still come. Listing takes seconds as a rule. */
export const SETTLE_MS = 15 * MINUTE
/** The same after an answer of 5xx: the service was there, and as a rule has not taken it. */
export const SETTLE_FAILED_MS = 15 * SECOND
/** How long after the acceptance the list must have named a new activity's path, before another may have taken its place. */
export const TWIN_SURE_MS = 30 * SECOND
/** How long an accepted activity is looked for that neither can be fetched nor has a twin. */
export const TWIN_WITHIN_MS = 7 * DAY
/** How long a sender that says nothing counts as alive, and how often it says so. */
export const LEASE_MS = 1 * MINUTE
export const LEASE_RENEW_MS = 15 * SECOND
/** A session's start, the first record and the service's own start can lie a minute apart. */
export const START_WITHIN_MS = 2 * MINUTE
/** How far our clock and the database's may differ, where the one's moments are compared with the other's. */
export const CLOCKS_WITHIN_MS = 1 * MINUTE
/** A file that is not whole and rests for so long is told; a writer pauses for seconds. */
export const WAITS_AFTER_MS = 1 * MINUTE
/** How long a file that is not whole may rest before it is refused: longer than a stop on the way, while a recorder pauses. */
export const GIVEN_UP_AFTER_MS = 1 * HOUR
/** A file whose last change is so long ago is not being written any more. */
export const OLD_AFTER_MS = 1 * DAY
/** What the files that are being sent may hold of memory together: as much as the largest FIT file. */
export const MEMORY_BYTES = 64 * 1_024 * 1_024
