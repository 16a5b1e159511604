import type { App } from '../app/app.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { errorCode, TransientError } from '../kit/errors.ts'
import { SECOND, sleep } from '../kit/time.ts'
import { findAccountHealth, findHealthCounts } from '../store/health.ts'
import { type EndedRun, findEndedRuns, type RunsMark } from '../store/runs.ts'
import { findWaitingFiles } from '../store/uploads/waiting-files.ts'
import type { DatabaseHealth, HealthSnapshot } from '../web/gauges.ts'
import type { Readiness } from '../web/health-routes.ts'
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
  deps: { app: Pick<App, 'store' | 'config'>; jobs: Pick<Jobs, 'counts'> },
  roles: readonly Role[],
): () => Promise<Readiness> {
  const { store, config } = deps.app
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

/**
 * Makes a reading that any number may ask for: it is read one at a time, again only `keepMs` after the last one came,
 * and nobody waits longer than `patienceMs`; then it is TransientError `no_answer`, and whoever asks next may get what is
 * still under way. Failures are kept as long as values, so that an outage is not made worse by asking.
 */
export function makeReading<T>(
  read: () => Promise<T>,
  options: { keepMs: number; patienceMs: number },
): () => Promise<T> {
  let current: { answer: Promise<T>; keptUntil: number } | undefined
  return async () => {
    if (!current || performance.now() >= current.keptUntil) {
      const started = { answer: read(), keptUntil: Number.POSITIVE_INFINITY }
      const settle = () => {
        started.keptUntil = performance.now() + options.keepMs
      }
      started.answer.then(settle, settle)
      current = started
    }
    return await patiently(current.answer, options.patienceMs)
  }
}

async function patiently<T>(answer: Promise<T>, patienceMs: number): Promise<T> {
  const answered = new AbortController()
  const late = async () => {
    await sleep(patienceMs, answered.signal)
    throw new TransientError('no_answer', `daemon: read: no answer within ${patienceMs} ms`)
  }
  try {
    return await Promise.race([answer, late()])
  } finally {
    answered.abort()
  }
}

/** Many scrapers, or an impatient one, read the database no more often than this. */
const METRICS_KEEP_MS = 5 * SECOND

/**
 * Makes the reader of database and queue for `/metrics`. It calls `onRun` once for every run that begins after the mark
 * `since` and has ended. `jobs` is a function because the mark is taken before the first job.
 */
export function makeHealthReader(
  deps: { app: Pick<App, 'store' | 'log'>; jobs: () => Pick<Jobs, 'counts' | 'paused'> },
  input: { since: RunsMark; onRun: (run: EndedRun) => void },
): () => Promise<HealthSnapshot> {
  const { store, log } = deps.app
  let mark = input.since
  const readDatabase = async (): Promise<DatabaseHealth> => {
    const read = await store.read(async (tx) => ({
      accounts: await findAccountHealth(tx),
      counts: await findHealthCounts(tx),
      runs: await findEndedRuns(tx, mark),
    }))
    mark = read.runs.mark
    for (const run of read.runs.ended) input.onRun(run)
    return { accounts: read.accounts, counts: read.counts }
  }
  const options = { keepMs: METRICS_KEEP_MS, patienceMs: PATIENCE_MS }
  const database = makeReading(readDatabase, options)
  const readQueue = async () => {
    const [jobs, paused] = await Promise.all([deps.jobs().counts(), deps.jobs().paused()])
    return { jobs, paused }
  }
  const queue = makeReading(readQueue, options)
  const orNothing = (part: string) => (error: unknown) => {
    log.debug({ error, part }, 'metrics: a part does not answer')
    return undefined
  }
  return async () => {
    const [fromDatabase, fromQueue] = await Promise.all([
      database().catch(orNothing('database')),
      queue().catch(orNothing('queue')),
    ])
    return { database: fromDatabase, queue: fromQueue }
  }
}
