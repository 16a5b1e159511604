import type { Jobs } from '../jobs/jobs.ts'
import { SECOND } from '../kit/durations.ts'
import { type AccountHealth, findAccountHealth } from '../store/health.ts'
import { findHealthCounts } from '../store/health-counts.ts'
import { type EndedRun, findEndedRuns, type RunsMark } from '../store/health-runs.ts'
import type { AccountFigures, DatabaseFigures, Figures } from '../web/metrics/figures.ts'
import type { House } from './house.ts'
import { makeReading } from './reading.ts'

/** Many scrapers, or an impatient one, read the database no more often than this. */
const KEEP_MS = 5 * SECOND
/** A scraper gives up after 10 s; the page comes before that, without the part that does not answer. */
const PATIENCE_MS = 3 * SECOND

/**
 * Makes what `/metrics` reads of database and queue. `onRun` hears, once, of every run that begins after the mark `since`
 * and has ended; `jobs` is asked for late, because the mark stands before the first job.
 */
export function makeFigures(
  deps: { house: Pick<House, 'store' | 'log'>; jobs: () => Pick<Jobs, 'counts' | 'paused'> },
  input: { since: RunsMark; onRun: (run: EndedRun) => void },
): () => Promise<Figures> {
  const { store, log } = deps.house
  let mark = input.since
  const readDatabase = async (): Promise<DatabaseFigures> => {
    const read = await store.read(async (tx) => ({
      health: await findAccountHealth(tx),
      counts: await findHealthCounts(tx),
      runs: await findEndedRuns(tx, mark),
    }))
    mark = read.runs.mark
    for (const run of read.runs.ended) input.onRun(run)
    const { neverFetched, ...counts } = read.counts
    return { ...counts, backfillToGo: neverFetched, accounts: read.health.map(figuresOf) }
  }
  const options = { keepMs: KEEP_MS, patienceMs: PATIENCE_MS }
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

function figuresOf(health: AccountHealth): AccountFigures {
  const { account, needs_login, polled_at, token_obtained_at, token_expires_at, refresh_failures } = health
  const token = token_obtained_at &&
    token_expires_at && {
      obtainedAt: token_obtained_at,
      expiresAt: token_expires_at,
      refreshFailures: refresh_failures ?? 0,
    }
  return { account, needsLogin: needs_login, polledAt: polled_at, token }
}
