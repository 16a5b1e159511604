import type { Jobs } from '../jobs/jobs.ts'
import { SECOND } from '../kit/durations.ts'
import { errorCode } from '../kit/errors.ts'
import { findAccountHealth } from '../store/health.ts'
import { findWaitingFiles } from '../store/waiting-files.ts'
import type { Readiness } from '../web/health.ts'
import type { House } from './house.ts'
import { makeReading } from './reading.ts'
import type { Role } from './roles.ts'

/** A poll may be late by a run that waits for the service; this many intervals late is not fresh. */
const FRESH_WITHIN_INTERVALS = 3
/** Anybody may ask, so it is read at most once in this time. */
const KEEP_MS = 1 * SECOND
/** Shorter than the wait of `musette healthcheck`, which then hears what is missing. */
const PATIENCE_MS = 3 * SECOND

/**
 * Makes the look whether database and queue answer, and whether every signed-in account was polled lately. Late polls
 * make only those processes unready that do polls, workers: a page that tells of the lateness should stay up. A drop
 * folder that cannot be read does so with those that watch it; single files that wait make nobody unready.
 */
export function makeReadiness(
  deps: { house: Pick<House, 'store' | 'config'>; jobs: Pick<Jobs, 'counts'> },
  roles: readonly Role[],
): () => Promise<Readiness> {
  const { store, config } = deps.house
  const options = { keepMs: KEEP_MS, patienceMs: PATIENCE_MS }
  const health = makeReading(() => store.read(findAccountHealth), options)
  const waiting = makeReading(() => store.read(findWaitingFiles), options)
  const counts = makeReading(() => deps.jobs.counts(), options)
  return async () => {
    const [database, queue, folder] = await Promise.allSettled([health(), counts(), waiting()])
    const oldest = Date.now() - FRESH_WITHIN_INTERVALS * config.mirror.pollEveryMs
    const polls = (database.status === 'fulfilled' ? database.value : []).map((account) => ({
      name: account.account,
      late: !account.needs_login && (account.polled_at?.getTime() ?? 0) < oldest,
      state: account.needs_login
        ? 'needs login'
        : `last poll: ${account.polled_at?.toISOString() ?? 'never'}`,
    }))
    const late = polls.filter((poll) => poll.late).length
    const parts: Record<string, string> = { database: stateOf(database), queue: stateOf(queue) }
    if (roles.includes('worker') && database.status === 'fulfilled') {
      parts.polls =
        late === 0 ? 'ok' : `${late} of ${polls.length} accounts not polled lately; run: musette status`
    }
    if (roles.includes('watcher') && folder.status === 'fulfilled') {
      const isGone = folder.value.some(({ code }) => code === 'vanished')
      parts.drop_folder = isGone ? 'cannot be read; run: musette doctor' : 'ok'
    }
    return {
      ready: Object.values(parts).every((state) => state === 'ok'),
      parts,
      accounts: Object.fromEntries(polls.map((poll) => [poll.name, poll.state])),
    }
  }
}

/** The code and no more: the sentence of a database error may name hosts and users, and strangers read this. */
function stateOf(looked: PromiseSettledResult<unknown>): string {
  return looked.status === 'fulfilled' ? 'ok' : `no use (${errorCode(looked.reason)}); run: musette status`
}
