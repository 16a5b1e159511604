import { driftOfDate } from '../../../normalize/dates.ts'
import { normalizeListEntry } from '../../../normalize/list-entry.ts'
import type { Account } from '../../../store/accounts.ts'
import type { ListedActivity } from '../../../store/activities/listed.ts'
import type { DriftItem } from '../../../store/drift.ts'
import type { MirrorDeps } from '../../account.ts'
import type { Window } from './windows.ts'

/** What is asked of the activity list (service document, endpoint 9). */
export type ListQuery = {
  account: Account
  window: Window
  /** only what has changed since, by the service's clock; undefined: everything */
  updatedFrom: Date | undefined
  signal?: AbortSignal | undefined
}

/** The answer to one request for a list; `entries` by path. */
export type ListPart = {
  window: Window
  entries: Map<string, ListedActivity>
  /** how many entries the list had, those that cannot be read too */
  size: number
  bad: ReadonlyArray<{ index: number; reason: string }>
  drift: readonly DriftItem[]
  requestedAt: Date
  /** changes up to this moment, by the service's clock, are in the list; undefined when it did not tell the time */
  knownUpTo: Date | undefined
}

/** Lists one window with one request. */
export async function listPart(deps: MirrorDeps, query: ListQuery, window: Window): Promise<ListPart> {
  const { account, updatedFrom, signal } = query
  const answer = await deps
    .serviceOf(account)
    .listActivities({ ...window, ...(updatedFrom && { updatedFrom }) }, signal)
  const { serviceTime, requestedAt } = answer
  const { entries, bad, drift } = answer.value
  const normalized = entries.map((entry) => normalizeListEntry(entry))
  const unreadable = entries.filter((_, index) => normalized[index]?.startedAt === null)
  // The Date header is written when the answer is; the list may be as old as the request.
  const took = deps.now().getTime() - requestedAt.getTime()
  return {
    window,
    entries: new Map(normalized.map((entry) => [entry.path, entry])),
    size: entries.length + bad.length,
    bad,
    drift: [
      ...drift,
      ...unreadable.flatMap(({ start_date }) => driftOfDate('activities[].start_date', start_date)),
    ],
    requestedAt,
    knownUpTo: serviceTime && new Date(serviceTime.getTime() - Math.max(0, took)),
  }
}
