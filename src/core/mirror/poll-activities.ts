import { DAY, SECOND } from '../../kit/time.ts'
import type { Window } from '../service/list-in-parts.ts'
import type { Account } from '../store/account-rows.ts'
import { upsertListed, type WhenSame } from '../store/activities/upsert-listed.ts'
import { recordDrift } from '../store/drift.ts'
import {
  type Cursor,
  findProgress,
  type ListProgress,
  type RunTally,
  recordCursor,
  recordListCap,
  withRun,
} from '../store/runs.ts'
import { acquireNamedLock } from '../store/store.ts'
import { type Listing, listChanges, listEverything, listPart, nameBad } from './list-activities.ts'
import type { MirrorDeps, MirrorInput } from './mirror.ts'
import { updateTimeZones } from './time-zones.ts'

export const ACTIVITIES = 'activities'

/** `bad` counts unreadable entries, plus 1 if the list is cut even in the smallest window. */
type PollResult = { listed: number; inserted: number; marked: number; bad: number }

/** End of every list window, far in the future because a head unit with a wrong clock dates its activities years ahead. The service keeps times in 64 bits. */
const FAR_DAY = new Date('2100-01-01T00:00:00Z')

/** Overlap of consecutive polls, because the service counts whole seconds and its document does not say whether `updated_from` is inclusive. */
const NEWS_OVERLAP_MS = 2 * SECOND

/**
 * Polls the activity list (service document, endpoint 9): lists the whole history's changes since the cursor minus the lag. In one
 * transaction, records the entries, marks them wanted and moves the cursor (see cursorAfter). Without a cursor, lists everything and compares
 * it with its parts: the first poll is the backfill. The cursor stays while the list is incomplete.
 */
export async function pollActivities(deps: MirrorDeps, input: MirrorInput): Promise<PollResult> {
  const { account } = input
  const key = { accountId: account.accountId, resource: ACTIVITIES }
  const known = await deps.store.read((tx) => findProgress(tx, key))
  const kind = known.cursor ? 'poll' : 'backfill'
  return withRun(deps.store, { ...key, kind }, async (tally) => {
    const listing = await listSince(deps, input, known)
    tally.listed = listing.entries.length
    nameUnreadable(tally, listing)
    // An incomplete list is one failure, regardless of the number of cut windows.
    tally.failed += Math.min(1, listing.cut.length)
    const whenSame = await fetchWhenSame(deps, input, { ...known, listing })
    const marked = await deps.store.transaction(async (tx) => {
      await acquireNamedLock(tx, 'activity list', key.accountId)
      const { entries, requestedAt, knownUpTo } = listing
      const counts = await upsertListed(tx, { ...key, entries, listedAt: requestedAt, whenSame })
      await recordDrift(tx, 'activity', listing.drift)
      if (kind === 'backfill' || (listing.cap !== null && listing.cap !== known.listCap)) {
        await recordListCap(tx, { ...key, listCap: listing.cap, checkedAt: requestedAt })
      }
      // The next poll repeats a cut list. An unreadable entry is only logged, because it cannot be fetched without a path; if it held the
      // cursor back, every poll would list and fetch everything again.
      if (listing.cut.length > 0) return counts
      if (!knownUpTo) {
        const message = 'the service sends no Date header; using the clock of this machine'
        deps.log.warn({ account: account.name }, message)
      }
      const updatedFrom = cursorAfter(listing)
      await recordCursor(tx, { ...key, updatedFrom })
      return counts
    })
    tally.changed = marked.marked + marked.inserted
    if (tally.changed > 0) await updateTimeZones(deps, account)
    logListing(deps, account, listing, known.listCap)
    deps.log[tally.changed > 0 ? 'info' : 'debug'](
      { account: account.name, kind, listed: tally.listed, changed: tally.changed },
      'activity list polled',
    )
    return { listed: listing.entries.length, ...marked, bad: tally.failed }
  })
}

/**
 * Returns the time up to which a list has all changes: the time of its request by the earlier of the service's clock and ours, because the
 * Date header may come from a proxy with a fast clock. Returns at most a day before the Date header: if our clock is years behind, only a day
 * of changes is listed again. Without the header, returns a day before the request.
 */
function cursorAfter({ knownUpTo, requestedAt }: Pick<Listing, 'knownUpTo' | 'requestedAt'>): Date {
  const ours = requestedAt.getTime()
  const theirs = knownUpTo?.getTime() ?? ours
  return new Date(Math.max(theirs - DAY, knownUpTo ? Math.min(theirs, ours) : 0))
}

/** Returns the window of every list: from the start of the mirrored history to a distant day. */
export function historyWindow({ options }: MirrorDeps): Window {
  return { from: options.historyStart, to: FAR_DAY }
}

/** Logs a cut list and unreadable entries. */
export function logListing(deps: MirrorDeps, account: Account, listing: Listing, capBefore: number | null) {
  const { bad, cap, cut } = listing
  const about = { account: account.name }
  if (cap !== null && cap !== capBefore)
    deps.log.warn({ ...about, cap }, 'the service cuts its lists; using smaller windows from now on')
  if (cut.length > 0)
    deps.log.error(
      { ...about, cap, windows: cut.slice(0, 5) },
      'the service cuts lists even in the smallest window',
    )
  if (bad.length > 0) deps.log.error({ ...about, bad: bad.slice(0, 5) }, 'unreadable list entries')
}

/** Maximum number of entries that are named. */
const MAX_NAMED = 5

/** Counts unreadable entries as failed, and names them in the run. */
export function nameUnreadable(tally: RunTally, { bad }: Listing): void {
  if (bad.length === 0) return
  const more = bad.length > MAX_NAMED ? `, and ${bad.length - MAX_NAMED} more` : ''
  const error = `${bad.slice(0, MAX_NAMED).map(nameBad).join(', ')}${more}`
  Object.assign(tally, { failed: bad.length, errorCode: 'entries_unreadable', error })
}

async function listSince(
  deps: MirrorDeps,
  input: MirrorInput,
  { cursor, listCap }: ListProgress,
): Promise<Listing & { whole: boolean }> {
  const query = { ...input, window: historyWindow(deps) }
  if (!cursor) return { ...(await listEverything(deps, query)), whole: true }
  const { lagMs } = deps.options
  const updatedFrom = new Date(cursor.updatedFrom.getTime() - lagMs)
  const listing = await listChanges(deps, { ...query, updatedFrom }, listCap)
  // If the clock went back by less than the lag, the listed span still covers new changes.
  if (!listing.knownUpTo || wentBackMs(cursor, listing.knownUpTo) <= lagMs / 2)
    return { ...listing, whole: false }
  deps.log.warn(
    { account: input.account.name },
    "the service's clock went back; requesting the whole list again",
  )
  return { ...(await listChanges(deps, { ...query, updatedFrom: undefined }, listCap)), whole: true }
}

/**
 * Decides which unchanged entries are refetched. Within the lag every poll lists the same entries, and an entry does not say when its activity
 * was updated. One more list (endpoint 9), from the cursor without the lag, names the entries changed since the last poll; they are fetched at
 * once. The others are fetched with growing pauses, because a change may be dated before the cursor but listed after it.
 */
async function fetchWhenSame(
  deps: MirrorDeps,
  input: MirrorInput,
  { cursor, listing }: ListProgress & { listing: Listing & { whole: boolean } },
): Promise<WhenSame> {
  if (!cursor || listing.whole || listing.cap !== null || listing.entries.length === 0) return 'fetch'
  // The time of the last poll by the Date header's clock.
  const behindMs = (listing.knownUpTo ?? listing.requestedAt).getTime() - cursorAfter(listing).getTime()
  const updatedFrom = new Date(cursor.updatedFrom.getTime() + behindMs - NEWS_OVERLAP_MS)
  const window = historyWindow(deps)
  const news = await listPart(deps, { ...input, window, updatedFrom, unlisted: listing.unlisted }, window)
  const { lagMs } = deps.options
  return { changed: new Set(news.entries.keys()), firstPauseMs: lagMs / 2, lastPauseMs: lagMs }
}

/**
 * Returns how far the service's clock went back since the cursor moved, ms: the larger of the distance behind the cursor and the distance by
 * the database's clock, which still shows it after a long pause between polls.
 */
function wentBackMs(cursor: Cursor, knownUpTo: Date): number {
  const ahead = (service: Date, ours: Date) => service.getTime() - ours.getTime()
  return Math.max(
    ahead(cursor.updatedFrom, knownUpTo),
    ahead(cursor.updatedFrom, cursor.advancedAt) - ahead(knownUpTo, cursor.readAt),
  )
}
