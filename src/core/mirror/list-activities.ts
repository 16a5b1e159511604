import { DAY, SECOND } from '../../kit/time.ts'
import { normalizeListEntry } from '../normalize/activity-answer.ts'
import { driftOfDate } from '../normalize/local-start.ts'
import type { Window } from '../service/list-in-parts.ts'
import type { BadItem, Drift } from '../service/wire/lenient.ts'
import type { Account } from '../store/account-rows.ts'
import type { ListedActivity } from '../store/activities/upsert-listed.ts'
import type { MirrorDeps } from './mirror.ts'

/** A list that is complete, except for what `bad` and `cut` name. */
export type Listing = Pick<ListPart, 'bad' | 'drift' | 'requestedAt' | 'knownUpTo'> & {
  entries: ListedActivity[]
  /** the longest list that the service sends; null: this one was compared with its parts and is not cut */
  cap: number | null
  /** windows that cannot be split further though their lists are as long as the cap */
  cut: Window[]
  /** seconds whose list is too large for an answer; `bad` names them */
  unlisted: Window[]
}

/** A shorter list is not compared with its halves: only a service that never sends more than one would cut it. */
const MIN_TO_COMPARE = 2

/**
 * Lists the activities of a window that have changed (service document, endpoint 9), with one request when there are none.
 * A list of two or more is compared with the lists of its two halves, because the service may cut long lists without saying so;
 * one that reaches `listCap`, or lacks entries that its halves have, is split until every part is shorter than the cap.
 */
export async function listChanges(
  deps: MirrorDeps,
  input: ListQuery,
  listCap: number | null,
): Promise<Listing> {
  const query = { ...input, unlisted: [] }
  const wide = await listPart(deps, query, query.window)
  const reached = listCap !== null && wide.size >= listCap
  const parts = wide.size < MIN_TO_COMPARE && !reached ? [] : await listHalves(deps, query, wide)
  const cap = reached ? listCap : await fetchCap(deps, query, wide, parts)
  return complete(deps, query, wide, parts, cap)
}

/**
 * Lists the whole history (service document, endpoint 9) and compares the one wide list with its halves and with its yearly
 * windows. When these have more entries, the service cuts its lists at `cap`, and every part that reaches it is split further.
 */
export async function listEverything(
  deps: MirrorDeps,
  query: Omit<ListQuery, 'updatedFrom'>,
): Promise<Listing> {
  const whole = { ...query, updatedFrom: undefined, unlisted: [] }
  const wide = await listPart(deps, whole, query.window)
  const first = [...wide.entries.values()].reduce(
    (least, { startedAt }) => Math.min(least, startedAt?.getTime() ?? least),
    YEARLY_FROM,
  )
  const [halves, years] = await Promise.all([
    wide.size < MIN_TO_COMPARE ? [] : listHalves(deps, whole, wide),
    Promise.all(splitByYears(query.window, deps.now(), first).map((year) => listPart(deps, whole, year))),
  ])
  const parts = [...halves, ...years]
  const cap = await fetchCap(deps, whole, wide, parts)
  return complete(deps, whole, wide, parts, cap)
}

async function listHalves(deps: MirrorDeps, query: ListQuery, part: ListPart): Promise<ListPart[]> {
  const starts = [...part.entries.values()].map(({ startedAt }) => startedAt)
  const halves = splitInHalves(part.window, starts)
  if (!halves) return []
  const [older, newer] = halves
  return [await listPart(deps, query, older), await listPart(deps, query, newer)]
}

/** Finds out at which length the service cuts the wide list; null when it does not. One more request where the parts have more entries. */
async function fetchCap(deps: MirrorDeps, query: ListQuery, wide: ListPart, parts: readonly ListPart[]) {
  const more = parts.flatMap((part) => [...part.entries.keys()]).filter((path) => !wide.entries.has(path))
  if (more.length === 0) return null
  // An entry may be missing only because it was made after the wide list was sent.
  const again = await listPart(deps, query, query.window)
  if (more.every((path) => again.entries.has(path))) return null
  return Math.max(1, again.size)
}

/** Makes a listing of the wide list, and with a cap of its parts, of which those that reach the cap are split further. */
async function complete(
  deps: MirrorDeps,
  query: ListQuery & Pick<Listing, 'unlisted'>,
  wide: ListPart,
  parts: readonly ListPart[],
  cap: number | null,
): Promise<Listing> {
  const leaves: ListPart[] = cap === null ? [wide] : []
  const cut: Window[] = []
  const open = cap === null ? [] : parts.length > 0 ? [...parts] : [wide]
  for (let part = open.pop(); part; part = open.pop()) {
    leaves.push(part)
    if (cap === null || part.size < cap) continue
    // With a cap of one, splitting would never end, and no list could be shown to be complete.
    const halves = cap < MIN_TO_COMPARE ? [] : await listHalves(deps, query, part)
    if (halves.length === 0) cut.push(part.window)
    open.push(...halves)
  }
  const entries = new Map([wide, ...leaves].flatMap((part) => [...part.entries]))
  return {
    entries: [...entries.values()],
    bad: leaves.flatMap((part) => part.bad),
    drift: leaves.flatMap((part) => part.drift),
    // The wide list is the oldest of them.
    requestedAt: wide.requestedAt,
    knownUpTo: wide.knownUpTo,
    ...{ cap, cut, unlisted: query.unlisted },
  }
}

/** A query of the activity list (service document, endpoint 9). */
type ListQuery = {
  account: Account
  window: Window
  /** only changes since then by the service's clock; undefined: everything */
  updatedFrom: Date | undefined
  /** seconds that are not asked for, see listInParts; the list adds others */
  unlisted?: Window[]
  signal?: AbortSignal | undefined
}

/** The list of one window; `entries` by path. */
type ListPart = {
  window: Window
  entries: Map<string, ListedActivity>
  /** entries in the list, with those that cannot be read */
  size: number
  bad: readonly BadItem[]
  drift: readonly Drift[]
  requestedAt: Date
  /** changes up to this moment, by the service's clock, are in the list; undefined without a Date header */
  knownUpTo: Date | undefined
}

/** Lists one window (service document, endpoint 9). */
export async function listPart(deps: MirrorDeps, query: ListQuery, window: Window): Promise<ListPart> {
  const { account, updatedFrom, unlisted = [], signal } = query
  const answer = await deps
    .serviceOf(account)
    .listActivities({ ...window, unlisted, ...(updatedFrom && { updatedFrom }) }, signal)
  const { serviceTime, requestedAt } = answer
  const { entries, bad, drift } = answer.value
  const normalized = entries.map((entry) => normalizeListEntry(entry))
  const unreadable = entries.filter((_, index) => normalized[index]?.startedAt === null)
  // The list may be as old as the request, while the Date header has the time of the answer.
  const took = deps.now().getTime() - requestedAt.getTime()
  return {
    window,
    entries: new Map(normalized.map((entry) => [entry.path, entry])),
    size: entries.length + bad.length,
    bad,
    drift: [
      // First, because only so many differences are kept.
      ...bad.map((item) => ({ field: 'activities[]', kind: 'type' as const, example: nameBad(item) })),
      ...drift,
      ...unreadable.flatMap((entry) => driftOfDate('activities[].start_date', entry)),
    ],
    requestedAt,
    knownUpTo: serviceTime && new Date(serviceTime.getTime() - Math.max(0, took)),
  }
}

/** Names an entry that cannot be read, with the reason. */
export function nameBad({ index, named, reason }: BadItem): string {
  return `${named === undefined ? `entry ${index + 1}` : JSON.stringify(named)} (${reason})`
}

/** An entry of the list, and when it was requested. */
export type Listed = { activity: ListedActivity; listedAt: Date }

/** Makes the function that fetches the list's entry of an activity: one request (endpoint 9) for all of a month. Undefined when it is not there. */
export function makeEntryLookup(
  deps: MirrorDeps,
  input: Pick<ListQuery, 'account' | 'signal'>,
): (activity: { path: string; startedAt: Date | null }) => Promise<Listed | undefined> {
  const months = new Map<number, Promise<ListPart>>()
  return async ({ path, startedAt }) => {
    if (!startedAt) return undefined
    const [year, month] = [startedAt.getUTCFullYear(), startedAt.getUTCMonth()]
    const from = Date.UTC(year, month, 1)
    // A service may take the ends as the wall clock of some zone.
    const window = { from: new Date(from - DAY), to: new Date(Date.UTC(year, month + 1, 1) + DAY) }
    const part = months.get(from) ?? listPart(deps, { ...input, window, updatedFrom: undefined }, window)
    months.set(from, part)
    part.catch(() => months.delete(from))
    const { entries, requestedAt } = await part
    const activity = entries.get(path)
    return activity && { activity, listedAt: requestedAt }
  }
}

/** Few activities are older; the years before are one part, unless the list has an activity of them. */
const YEARLY_FROM = Date.UTC(2000, 0, 1)

/**
 * Splits a window by years from `first` on, ms, with one part before; the last part begins within a year of `now` and holds all that is dated ahead.
 * Neighbours share their boundary, so that nothing is missed whether or not the service includes the ends of a window.
 */
export function splitByYears(window: Window, now: Date, first = 0): Window[] {
  const parts: Window[] = []
  let from = window.from
  while (from < window.to) {
    const next = new Date(from)
    next.setUTCFullYear(from.getUTCFullYear() + 1)
    if (next.getTime() < first) next.setTime(first)
    const to = next < now && next < window.to ? next : window.to
    parts.push({ from, to })
    from = to
  }
  return parts
}

/**
 * Splits a window so that half of the listed `starts` lie on each side: the halves of a list that was cut then have more entries together,
 * whichever were left out. Without any start it splits in the middle. Undefined when the window is too small to be split: one second.
 */
export function splitInHalves(
  window: Window,
  starts: ReadonlyArray<Date | null>,
): [Window, Window] | undefined {
  const from = toSeconds(window.from)
  const to = toSeconds(window.to)
  if (to - from < 2) return undefined
  const known = starts.filter((start) => start !== null).map(toSeconds)
  const median = known.toSorted((a, b) => a - b)[Math.floor(known.length / 2)]
  // The median start opens the newer half, so that the older half is smaller also where many start at the same second.
  const wished = median === undefined ? Math.floor((from + to) / 2) : median - 1
  const cut = new Date(Math.min(to - 1, Math.max(from + 1, wished)) * SECOND)
  return [
    { from: window.from, to: cut },
    { from: cut, to: window.to },
  ]
}

function toSeconds(moment: Date): number {
  return Math.floor(moment.getTime() / SECOND)
}
