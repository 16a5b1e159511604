import { commandFor, errorLine, isAbort, UnexpectedResponseError } from '../../kit/errors.ts'
import { DAY } from '../../kit/time.ts'
import type { Window } from '../service/list-in-parts.ts'
import type { Account } from '../store/account-rows.ts'
import {
  findKnownActivities,
  type KnownActivity,
  recordAbsent,
  upsertListed,
} from '../store/activities/upsert-listed.ts'
import type { WantedActivity } from '../store/activities/wanted.ts'
import { cleanText } from '../store/clean.ts'
import { recordDrift } from '../store/drift.ts'
import { findProgress, recordListCap, withRun } from '../store/runs.ts'
import { acquireNamedLock } from '../store/store.ts'
import { isGone, isItemFailure, isShrunken, isUnknownThere } from './failures.ts'
import { type Listing, listChanges, listEverything } from './list-activities.ts'
import type { MirrorDeps, MirrorInput } from './mirror.ts'
import { ACTIVITIES, historyWindow, logListing, nameUnreadable } from './poll-activities.ts'

/** How long an accepted upload may be missing from the list, because the service takes minutes, rarely days, to analyse it. */
const UNLISTED_FOR_MS = 7 * DAY

export type ReconcileResult = { listed: number; inserted: number; marked: number; absent: number }

type ReconcileInput = MirrorInput & {
  /** accepts the list even if most activities are missing from it */
  acceptRemovals?: boolean
  /** compares the list only with its halves, like a poll */
  isQuick?: boolean
}

/**
 * Compares the whole list (service document, endpoint 9) with the mirror in one transaction. An activity that the list lacks becomes absent.
 * An activity that is new, listed again or listed differently becomes wanted. The cursor does not move. If the list has unreadable entries, an
 * activity becomes absent only if the service answers that it does not have it, because any such entry may be the missing activity. Throws
 * UnexpectedResponseError and changes nothing if the list cannot be trusted: parts are always cut (`list_cut`), or it lacks too much of the
 * mirror (`list_shrunken`; with unreadable entries `list_unreadable`).
 */
export async function reconcileActivities(deps: MirrorDeps, input: ReconcileInput): Promise<ReconcileResult> {
  const { account } = input
  const key = { accountId: account.accountId, resource: ACTIVITIES }
  return withRun(deps.store, { ...key, kind: 'reconcile' }, async (tally) => {
    const window = historyWindow(deps)
    const { before, listCap } = await deps.store.read(async (tx) => ({
      before: await findKnownActivities(tx, account.accountId),
      ...(await findProgress(tx, key)),
    }))
    const listing = input.isQuick
      ? await listChanges(deps, { ...input, window, updatedFrom: undefined }, listCap)
      : await listEverything(deps, { ...input, window })
    tally.listed = listing.entries.length
    logListing(deps, account, listing, listCap)
    assertWhole(account, listing)
    nameUnreadable(tally, listing)
    const missing = (now: readonly KnownActivity[]) => {
      const listed = new Set(listing.entries.map(({ path }) => cleanText(path)))
      const selected = selectRemoved({ before, now, listed, window, requestedAt: listing.requestedAt })
      if (!input.acceptRemovals) assertPlausible(account, listing, selected)
      return { listed, ...selected }
    }
    const gone = listing.bad.length > 0 ? await fetchGone(deps, input, missing(before).removed) : undefined
    const result = await deps.store.transaction(async (tx) => {
      await acquireNamedLock(tx, 'activity list', key.accountId)
      const { entries, requestedAt, cap } = listing
      const { listed, removed } = missing(await findKnownActivities(tx, account.accountId))
      const counts = await upsertListed(tx, { ...key, entries, listedAt: requestedAt, whenSame: 'leave' })
      const ids = removed.map(({ activityId }) => activityId)
      const activityIds = gone ? ids.filter((id) => gone.has(id)) : ids
      const absent = await recordAbsent(tx, { ...key, activityIds, absentSince: requestedAt })
      await recordDrift(tx, 'activity', listing.drift)
      if (!input.isQuick) await recordListCap(tx, { ...key, listCap: cap, checkedAt: requestedAt })
      return { listed: listed.size, ...counts, absent }
    })
    tally.changed = result.inserted + result.marked
    tally.absent = result.absent
    deps.log[tally.changed + tally.absent > 0 ? 'info' : 'debug'](
      { account: account.name, listed: result.listed, changed: tally.changed, absent: result.absent },
      'mirror compared with the whole activity list',
    )
    return result
  })
}

/**
 * Records an activity as absent if neither the service (404) nor the list knows it. Reports whether the activity was recorded as absent. If
 * the list cannot be fetched or trusted, logs it and keeps the activity. Throws the signal's reason and database errors.
 */
export async function recordIfGone(
  deps: MirrorDeps,
  { activity, error, ...input }: ReconcileInput & { activity: WantedActivity; error: unknown },
): Promise<boolean> {
  if (!isGone(activity, error)) return false
  const { accountId, activityId } = activity
  const isAbsent = async () => {
    const known = await deps.store.read((tx) => findKnownActivities(tx, accountId))
    return known.some((one) => one.activityId === activityId && one.absentSince !== null)
  }
  if (await isAbsent()) return true
  try {
    await reconcileActivities(deps, { ...input, isQuick: true })
  } catch (failure) {
    if (isAbort(failure, input.signal)) throw failure
    deps.log.warn(
      { path: activity.path, reason: errorLine(failure) },
      'could not find out whether the activity is gone',
    )
  }
  return isAbsent()
}

/** Returns which of these activities the service no longer has; takes one request for each (endpoint 8). */
async function fetchGone(deps: MirrorDeps, input: MirrorInput, removed: readonly KnownActivity[]) {
  const gone = new Set<number>()
  for (const { activityId, path } of removed) {
    try {
      await deps.serviceOf(input.account).fetchActivity(path, { samples: false }, input.signal)
    } catch (error) {
      if (isAbort(error, input.signal) || !isItemFailure(error)) throw error
      if (isUnknownThere(error)) gone.add(activityId)
    }
  }
  return gone
}

function assertWhole(account: Account, { cut }: Listing): void {
  if (cut.length > 0)
    throw distrusted(account, 'list_cut', 'the service cuts its list even in the smallest window')
}

function distrusted({ name }: Account, code: string, reason: string): UnexpectedResponseError {
  return new UnexpectedResponseError(
    code,
    `account "${name}" could not be compared with the service: ${reason}; nothing was changed, and musette retries by itself`,
  )
}

/**
 * Selects the activities that a whole list of `window` no longer names. `before` is the mirror's state before the list was requested: an
 * activity that was listed or wanted since is kept. Also kept are an activity that starts outside the window, and a recent upload that was
 * never listed, unless the service answered that it does not exist.
 */
function selectRemoved(input: {
  before: readonly KnownActivity[]
  now: readonly KnownActivity[]
  listed: ReadonlySet<string>
  window: Window
  requestedAt: Date
}): { present: number; removed: KnownActivity[] } {
  const before = new Map(input.before.map((activity) => [activity.activityId, activity]))
  const { from, to } = input.window
  const present = input.now.filter(
    ({ absentSince, startedAt }) =>
      absentSince === null && (startedAt === null || (startedAt >= from && startedAt <= to)),
  )
  const removed = present.filter((activity) => {
    const was = before.get(activity.activityId)
    const isSame =
      was?.listedAt.getTime() === activity.listedAt.getTime() &&
      was.wantedAt.getTime() === activity.wantedAt.getTime()
    return isSame && !input.listed.has(activity.path) && !awaitsListing(activity, input.requestedAt)
  })
  return { present: present.length, removed }
}

/** Throws UnexpectedResponseError if the list lacks too many activities; `list_shrunken` names the command that accepts the list. */
function assertPlausible(
  account: Account,
  { entries, bad }: Listing,
  { present, removed }: ReturnType<typeof selectRemoved>,
): void {
  const gone = removed.length
  if (!isShrunken({ before: present, gone, listed: entries.length, emptyAllowed: 0 })) return
  if (bad.length > 0)
    throw distrusted(account, 'list_unreadable', `${bad.length} entries of the list cannot be read`)
  throw new UnexpectedResponseError(
    'list_shrunken',
    `account "${account.name}": ${gone} of ${present} activities are missing from the list of the ` +
      `service, so nothing was changed; if they are really gone, run: ${commandFor('sync', account.name)} --full --accept-removals`,
  )
}

function awaitsListing(
  { name, startedAt, detailState, listedAt }: KnownActivity,
  requestedAt: Date,
): boolean {
  const neverListed = name === null && startedAt === null
  const sinceMs = requestedAt.getTime() - listedAt.getTime()
  return neverListed && detailState !== 'failed' && sinceMs < UNLISTED_FOR_MS
}
