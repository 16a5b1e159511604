import { UnexpectedResponseError } from '../../kit/errors.ts'
import type { Account } from '../../store/accounts.ts'
import { findKnownActivities, recordAbsent } from '../../store/activities/absent.ts'
import { upsertListed } from '../../store/activities/listed.ts'
import { cleanText } from '../../store/clean.ts'
import { findListCap, lockListing, recordListCap } from '../../store/cursors.ts'
import { recordDrift } from '../../store/drift.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'
import { type RunTally, withRun } from '../run.ts'
import { type Listing, listEverything } from './list/list.ts'
import { historyWindow, logListing, RESOURCE } from './poll.ts'
import { assertPlausible, findRemoved } from './removals.ts'

export type ReconcileResult = { listed: number; inserted: number; marked: number; absent: number }

export type ReconcileInput = {
  account: Account
  /** takes a list's word even when most of the activities are missing in it */
  acceptRemovals?: boolean
  signal?: AbortSignal
}

/**
 * Compares the whole list (service document, endpoint 9) with the mirror, in one transaction: what is missing there is
 * absent from now on, what is missing here, has come back or is listed differently becomes wanted. The cursor stays where
 * it is. Throws UnexpectedResponseError and changes nothing when the list cannot be trusted: entries that cannot be
 * read, parts that cannot be had whole, or too much of the mirror missing in it (design, "Reconcile").
 */
export async function reconcileActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: ReconcileInput,
): Promise<ReconcileResult> {
  const { account } = input
  const key = { accountId: account.accountId, resource: RESOURCE }
  return withRun(deps.store, { ...key, kind: 'reconcile' }, async (tally) => {
    const window = historyWindow(deps, options)
    const { before, listCap } = await deps.store.read(async (tx) => ({
      before: await findKnownActivities(tx, account.accountId),
      listCap: (await findListCap(tx, key))?.listCap ?? null,
    }))
    const listing = await listEverything(deps, { ...input, window })
    tally.listed = listing.entries.length
    logListing(deps, account, listing, listCap)
    assertWhole(account, listing)
    const result = await deps.store.transaction(async (tx) => {
      await lockListing(tx, key)
      const { entries, requestedAt, cap } = listing
      const now = await findKnownActivities(tx, account.accountId)
      const listed = new Set(entries.map(({ path }) => cleanText(path)))
      const { present, removed } = findRemoved({ before, now, listed, window })
      if (!input.acceptRemovals)
        assertPlausible({ account: account.name, listed: listed.size, present, removed: removed.length })
      const counts = await upsertListed(tx, { ...key, entries, listedAt: requestedAt, whenSame: 'leave' })
      const activityIds = removed.map(({ activityId }) => activityId)
      const absent = await recordAbsent(tx, { ...key, activityIds, absentSince: requestedAt })
      await recordDrift(tx, 'activity', listing.drift)
      await recordListCap(tx, { ...key, listCap: cap, checkedAt: requestedAt })
      return { listed: listed.size, ...counts, absent }
    })
    logResult(deps, account, tally, result)
    return result
  })
}

function assertWhole(account: Account, { bad, cut }: Listing): void {
  const reason =
    bad.length > 0
      ? `${bad.length} entries of the list cannot be read`
      : cut.length > 0
        ? 'the service cuts its list even in the smallest window'
        : undefined
  if (reason === undefined) return
  throw new UnexpectedResponseError(
    bad.length > 0 ? 'list_unreadable' : 'list_cut',
    `mirror, reconcile account "${account.name}": ${reason}, so nothing was changed; it is tried again by itself`,
  )
}

function logResult(deps: MirrorDeps, account: Account, tally: RunTally, result: ReconcileResult): void {
  tally.changed = result.inserted + result.marked
  tally.absent = result.absent
  deps.log[tally.changed + tally.absent > 0 ? 'info' : 'debug'](
    { account: account.name, listed: result.listed, changed: tally.changed, absent: result.absent },
    'mirror compared with the whole activity list',
  )
}
