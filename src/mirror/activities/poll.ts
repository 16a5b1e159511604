import { DAY } from '../../kit/durations.ts'
import { normalizeListEntry } from '../../normalize/list-entry.ts'
import type { Account } from '../../store/accounts.ts'
import { upsertListed } from '../../store/activities/listed.ts'
import { findCursor, recordCursor } from '../../store/cursors.ts'
import { recordDrift } from '../../store/drift.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'
import { withRun } from '../run.ts'

export const RESOURCE = 'activities'

export type PollResult = { listed: number; inserted: number; marked: number; bad: number }

/** Activities can be dated ahead of us: head units with a wrong clock, and time zones east of the service. */
const AHEAD_MS = 2 * DAY

/**
 * Polls the activity list (service document, endpoint 9) from the cursor minus the lag, wide over the whole history,
 * and in one transaction records the entries, marks them wanted and moves the cursor to the time of the request by
 * the service's clock. Without a cursor it asks for everything: the backfill is the first poll.
 */
export async function pollActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; signal?: AbortSignal },
): Promise<PollResult> {
  const { account, signal } = input
  const cursor = await deps.store.read((tx) =>
    findCursor(tx, { accountId: account.accountId, resource: RESOURCE }),
  )
  const kind = cursor ? 'poll' : 'backfill'
  return withRun(deps.store, { accountId: account.accountId, resource: RESOURCE, kind }, async (tally) => {
    let updatedFrom = cursor && new Date(cursor.updatedFrom.getTime() - options.lagMs)
    let listing = await listActivities(deps, options, { account, updatedFrom, signal })
    if (cursor && listing.updatedFrom && listing.updatedFrom < cursor.updatedFrom) {
      // The service's clock went back behind the cursor, so changes may carry times that the cursor has passed.
      deps.log.warn(
        { account: account.name },
        "the service's clock went back; asking for the whole list again",
      )
      updatedFrom = undefined
      listing = await listActivities(deps, options, { account, updatedFrom, signal })
    }
    const entries = listing.wire.entries.map(normalizeListEntry)
    tally.listed = entries.length
    tally.failed = listing.wire.bad.length
    const marked = await deps.store.transaction(async (tx) => {
      const counts = await upsertListed(tx, {
        accountId: account.accountId,
        entries,
        listedAt: listing.requestedAt,
      })
      await recordDrift(tx, 'activity', listing.wire.drift)
      // An unreadable entry keeps the cursor where it is: it is asked for again until it can be read.
      if (listing.updatedFrom && listing.wire.bad.length === 0) {
        await recordCursor(tx, {
          accountId: account.accountId,
          resource: RESOURCE,
          updatedFrom: listing.updatedFrom,
        })
      }
      return counts
    })
    tally.changed = marked.marked + marked.inserted
    if (listing.wire.bad.length > 0) {
      deps.log.error(
        { account: account.name, bad: listing.wire.bad.slice(0, 5) },
        'list entries that cannot be read',
      )
    }
    deps.log[tally.changed > 0 ? 'info' : 'debug'](
      { account: account.name, kind, listed: tally.listed, changed: tally.changed },
      'activity list polled',
    )
    return { listed: entries.length, ...marked, bad: listing.wire.bad.length }
  })
}

async function listActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: { account: Account; updatedFrom: Date | undefined; signal: AbortSignal | undefined },
) {
  const to = new Date(deps.now().getTime() + AHEAD_MS)
  const window = {
    from: options.historyStart,
    to,
    ...(input.updatedFrom && { updatedFrom: input.updatedFrom }),
  }
  const answer = await deps.serviceOf(input.account).listActivities(window, input.signal)
  const { serviceTime, requestedAt } = answer
  // The Date header is written when the answer is; the list may be as old as the request.
  const took = deps.now().getTime() - requestedAt.getTime()
  const updatedFrom = serviceTime && new Date(serviceTime.getTime() - Math.max(0, took))
  return { wire: answer.value, requestedAt, updatedFrom }
}
