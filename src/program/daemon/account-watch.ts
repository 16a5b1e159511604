import { isDeepStrictEqual } from 'node:util'
import type { JobName } from '../../core/jobs/catalog.ts'
import type { Jobs } from '../../core/jobs/jobs.ts'
import { findLoginTimes } from '../../core/store/account-rows.ts'
import { findAccountsWithWanted } from '../../core/store/activities/wanted.ts'
import { openChangeListener } from '../../core/store/feed/change-listener.ts'
import { findNewestChange } from '../../core/store/feed/change-rows.ts'
import type { Tx } from '../../core/store/store.ts'
import { findDueUploads } from '../../core/store/uploads/uploads.ts'
import { errorLine } from '../../kit/errors.ts'
import { startWork } from '../../kit/release-stack.ts'
import { SECOND } from '../../kit/time.ts'
import type { App } from '../app/app.ts'
import { NO_ACCOUNT } from '../frame/findings/core-sources.ts'

/** How often the watch looks for due work and new logins, ms, because a pooler may drop notifications. */
const LOOK_EVERY_MS = 10 * SECOND
/** The jobs whose results a rider waits for after a login. */
const FIRST_JOBS: readonly JobName[] = ['poll-activities', 'poll-training-info', 'poll-workouts']

/**
 * Watches the accounts. An account gets its schedules and is polled at once when it signs in, also for a second time; a deleted account
 * loses its schedules. The database notifies of changes; without a notification, the watch finds a change within ten seconds. If work is
 * due or the change feed has a new row, the watch enqueues a sweep; otherwise it only reads the database. It ignores an unreachable
 * database, because schedules do the same work later.
 */
export async function openAccountWatch(
  { store, log, databaseUrl, mirror }: Pick<App, 'store' | 'log' | 'databaseUrl' | 'mirror'>,
  jobs: Pick<Jobs, 'enqueue' | 'keepSchedules'>,
  everyMs = LOOK_EVERY_MS,
): Promise<{ close(): Promise<void> }> {
  const listener = openChangeListener({ log }, { connectionString: databaseUrl, channel: 'musette_accounts' })
  let known = await store.read(findLoginTimes)
  let newest: number | undefined
  let wasDue = false
  if (known.size === 0) log.warn(`${NO_ACCOUNT.found}; run: ${NO_ACCOUNT.run}`)
  const look = async () => {
    const { found, isDue, change } = await store.read(async (tx) => ({
      found: await findLoginTimes(tx),
      isDue: await hasDueWork(tx, mirror.now()),
      change: await findNewestChange(tx),
    }))
    // Enqueue one more sweep when nothing is due any longer, for the work that waits until all activities are fetched.
    if (isDue || wasDue || change !== newest) await jobs.enqueue('sweep', [{}])
    newest = change
    wasDue = isDue
    if (!isDeepStrictEqual([...known.keys()], [...found.keys()])) await jobs.keepSchedules()
    const payloads = [...found]
      .filter(([accountId, at]) => at !== null && at !== known.get(accountId))
      .map(([accountId]) => ({ accountId }))
    if (payloads.length > 0) for (const name of FIRST_JOBS) await jobs.enqueue(name, payloads)
    known = found
  }
  const watch = startWork(async (signal) => {
    while (!signal.aborted) {
      await listener.wait(everyMs, signal)
      if (signal.aborted) return
      await look().catch((error: unknown) =>
        log.debug({ reason: errorLine(error) }, 'the accounts cannot be read now'),
      )
    }
  })
  return { close: () => watch.close().then(listener.close) }
}

async function hasDueWork(tx: Tx, now: Date): Promise<boolean> {
  if ((await findAccountsWithWanted(tx, now)).length > 0) return true
  return (await findDueUploads(tx, { now, limit: 1 })).length > 0
}
