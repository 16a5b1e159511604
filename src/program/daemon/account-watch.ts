import { isDeepStrictEqual } from 'node:util'
import type { JobName } from '../../core/jobs/catalog.ts'
import type { Jobs } from '../../core/jobs/jobs.ts'
import { findLoginTimes } from '../../core/store/account-rows.ts'
import { openChangeListener } from '../../core/store/feed/change-listener.ts'
import { errorLine } from '../../kit/errors.ts'
import { startWork } from '../../kit/release-stack.ts'
import { SECOND } from '../../kit/time.ts'
import type { App } from '../app/app.ts'

/** Without a notification, as behind a pooler: a query of a table with a row for each account. */
const LOOK_EVERY_MS = 10 * SECOND
/** The jobs that a rider waits for after a login. */
const FIRST_JOBS: readonly JobName[] = ['poll-activities', 'poll-training-info', 'poll-workouts']

/**
 * Watches the accounts: one that signs in, also again, gets its schedules and polls at once; a deleted one loses them. The database
 * notifies of a change; without a notification it is found within ten seconds. An unreachable database is ignored, because the schedules
 * are also updated every minute.
 */
export async function openAccountWatch(
  { store, log, databaseUrl }: Pick<App, 'store' | 'log' | 'databaseUrl'>,
  jobs: Pick<Jobs, 'enqueue' | 'keepSchedules'>,
): Promise<{ close(): Promise<void> }> {
  const listener = openChangeListener({ log }, { connectionString: databaseUrl, channel: 'musette_accounts' })
  let known = await store.read(findLoginTimes)
  const look = async () => {
    const found = await store.read(findLoginTimes)
    if (!isDeepStrictEqual([...known.keys()], [...found.keys()])) await jobs.keepSchedules()
    const payloads = [...found]
      .filter(([accountId, at]) => at !== null && at !== known.get(accountId))
      .map(([accountId]) => ({ accountId }))
    if (payloads.length > 0) for (const name of FIRST_JOBS) await jobs.enqueue(name, payloads)
    known = found
  }
  const watch = startWork(async (signal) => {
    while (!signal.aborted) {
      await listener.wait(LOOK_EVERY_MS, signal)
      if (signal.aborted) return
      await look().catch((error: unknown) =>
        log.debug({ reason: errorLine(error) }, 'the accounts cannot be read now'),
      )
    }
  })
  return { close: () => watch.close().then(listener.close) }
}
