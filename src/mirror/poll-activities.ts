import { DAY, SECOND } from '../kit/time.ts'
import type { Account } from '../store/accounts.ts'
import { upsertListed, type WhenSame } from '../store/activities/listed.ts'
import {
  type Cursor,
  findCursor,
  findListCap,
  lockListing,
  recordCursor,
  recordListCap,
} from '../store/cursors.ts'
import { recordDrift } from '../store/drift.ts'
import { type Listing, listChanges, listEverything, listPart, type Window } from './list-activities.ts'
import { type MirrorDeps, type MirrorOptions, withRun } from './mirror.ts'

export const ACTIVITIES = 'activities'

/** `bad` counts what could not be had of the list: entries that cannot be read, and a list that is cut beyond mending. */
type PollResult = { listed: number; inserted: number; marked: number; bad: number }

/** Activities can be dated ahead of us: head units with a wrong clock, and time zones east of the service. */
const AHEAD_MS = 2 * DAY

/** The service counts in whole seconds, and does not say whether it lists what changed at `updated_from` itself. */
const NEWS_OVERLAP_MS = 2 * SECOND

/**
 * Polls the activity list (service document, endpoint 9) from the cursor minus the lag, wide over the whole history,
 * and in one transaction records the entries, marks them wanted and moves the cursor to the time of the request by
 * the service's clock. Without a cursor it asks for everything, and compares that with its parts: the backfill is the
 * first poll. The cursor stays where it is while the list cannot be had whole.
 */
export async function pollActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; signal?: AbortSignal },
): Promise<PollResult> {
  const { account } = input
  const key = { accountId: account.accountId, resource: ACTIVITIES }
  const known = await deps.store.read(async (tx) => ({
    cursor: await findCursor(tx, key),
    listCap: (await findListCap(tx, key))?.listCap ?? null,
  }))
  const kind = known.cursor ? 'poll' : 'backfill'
  return withRun(deps.store, { ...key, kind }, async (tally) => {
    const listing = await listSince(deps, options, input, known)
    tally.listed = listing.entries.length
    // A list that cannot be had whole is one thing that failed, however many windows show it.
    tally.failed = listing.bad.length + Math.min(1, listing.cut.length)
    const whenSame = await judgeSame(deps, options, input, { ...known, listing })
    const marked = await deps.store.transaction(async (tx) => {
      await lockListing(tx, key)
      const { entries, requestedAt, knownUpTo } = listing
      const counts = await upsertListed(tx, { ...key, entries, listedAt: requestedAt, whenSame })
      await recordDrift(tx, 'activity', listing.drift)
      if (kind === 'backfill' || (listing.cap !== null && listing.cap !== known.listCap)) {
        await recordListCap(tx, { ...key, listCap: listing.cap, checkedAt: requestedAt })
      }
      // What was cut off is asked for again. What cannot be read has no name to be fetched by: it is said, and the cursor
      // goes on, or one such entry would have everything listed and asked for again at every poll.
      if (listing.cut.length === 0) {
        await recordCursor(tx, { ...key, updatedFrom: knownUpTo ?? ownClock(deps, account, requestedAt) })
      }
      return counts
    })
    tally.changed = marked.marked + marked.inserted
    logListing(deps, account, listing, known.listCap)
    deps.log[tally.changed > 0 ? 'info' : 'debug'](
      { account: account.name, kind, listed: tally.listed, changed: tally.changed },
      'activity list polled',
    )
    return { listed: listing.entries.length, ...marked, bad: tally.failed }
  })
}

/** The span that lists are asked for: from the first day mirrored to a little ahead of now. */
export function historyWindow(deps: MirrorDeps, options: MirrorOptions): Window {
  return { from: options.historyStart, to: new Date(deps.now().getTime() + AHEAD_MS) }
}

/** Says in the log what a person should know of a list: that it is cut, and what of it cannot be read. */
export function logListing(
  deps: MirrorDeps,
  account: Account,
  listing: Listing,
  capBefore: number | null,
): void {
  const { bad, cap, cut } = listing
  const about = { account: account.name }
  if (cap !== null && cap !== capBefore)
    deps.log.warn({ ...about, cap }, 'the service cuts its lists; asking for smaller windows from now on')
  if (cut.length > 0)
    deps.log.error({ ...about, cap, windows: cut.slice(0, 5) }, 'lists that are cut in the smallest window')
  if (bad.length > 0) deps.log.error({ ...about, bad: bad.slice(0, 5) }, 'list entries that cannot be read')
}

type Known = { cursor: Cursor | undefined; listCap: number | null }

async function listSince(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; signal?: AbortSignal },
  known: Known,
): Promise<Listing & { whole: boolean }> {
  const { cursor, listCap } = known
  const query = { ...input, window: historyWindow(deps, options) }
  if (!cursor) return { ...(await listEverything(deps, query)), whole: true }
  const updatedFrom = new Date(cursor.updatedFrom.getTime() - options.lagMs)
  const listing = await listChanges(deps, { ...query, updatedFrom }, listCap)
  // A clock that went back by less than the lag still gives changes a time that was asked for.
  if (!listing.knownUpTo || wentBackMs(cursor, listing.knownUpTo) <= options.lagMs / 2)
    return { ...listing, whole: false }
  deps.log.warn(
    { account: input.account.name },
    "the service's clock went back; asking for the whole list again",
  )
  return { ...(await listChanges(deps, { ...query, updatedFrom: undefined }, listCap)), whole: true }
}

/**
 * Tells what becomes of entries that are as they were. Within the lag the same ones are listed poll after poll, and
 * an entry does not say when its activity was updated: the list from the cursor on, without the lag, names those that changed
 * since the last poll, which are asked for at once. The others are asked for again with growing pauses, for a change may
 * be dated before the cursor and listed after it.
 */
async function judgeSame(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; signal?: AbortSignal },
  found: Known & { listing: Listing & { whole: boolean } },
): Promise<WhenSame> {
  const { cursor, listing } = found
  if (!cursor || listing.whole || listing.cap !== null || listing.entries.length === 0) return 'ask'
  const updatedFrom = new Date(cursor.updatedFrom.getTime() - NEWS_OVERLAP_MS)
  const window = historyWindow(deps, options)
  const news = await listPart(deps, { ...input, window, updatedFrom }, window)
  const { lagMs } = options
  return { news: new Set(news.entries.keys()), firstPauseMs: lagMs / 2, lastPauseMs: lagMs }
}

/**
 * How far the service's clock went back since the cursor was moved, ms: behind the cursor itself, or, when nobody
 * looked for longer than that, against the database's clock.
 */
function wentBackMs(cursor: Cursor, knownUpTo: Date): number {
  const ahead = (service: Date, ours: Date) => service.getTime() - ours.getTime()
  return Math.max(
    ahead(cursor.updatedFrom, knownUpTo),
    ahead(cursor.updatedFrom, cursor.advancedAt) - ahead(knownUpTo, cursor.readAt),
  )
}

/** The cursor of a service that does not tell its time: ours, and so far back that a clock wrong by hours does no harm. */
function ownClock(deps: MirrorDeps, account: Account, requestedAt: Date): Date {
  deps.log.warn(
    { account: account.name },
    'the service sends no Date header; going by the clock of this machine',
  )
  return new Date(requestedAt.getTime() - DAY)
}
