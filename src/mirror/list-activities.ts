import { SECOND } from '../kit/time.ts'
import { normalizeListEntry } from '../normalize/activity-row.ts'
import { driftOfDate } from '../normalize/dates.ts'
import type { Account } from '../store/accounts.ts'
import type { ListedActivity } from '../store/activities/listed.ts'
import type { DriftItem } from '../store/drift.ts'
import type { MirrorDeps } from './mirror.ts'

/** A list that is known to be whole, but for what `bad` and `cut` say. */
export type Listing = Pick<ListPart, 'bad' | 'drift' | 'requestedAt' | 'knownUpTo'> & {
  entries: ListedActivity[]
  /** the longest list the service gives at once; null: this one was compared with its parts and is not cut */
  cap: number | null
  /** windows that cannot be split any further and whose lists are still as long as the cap */
  cut: Window[]
}

/** A list of one may only be cut by a service that never gives more: nothing to compare. */
const LEAST_TO_COMPARE = 2

/**
 * Lists the activities of a window, with one request when nothing is listed. A list of two or more is compared with the
 * lists of its two halves; one that reaches `listCap`, or turns out to be cut, is split until every part is
 * shorter than the cap (design, "Lists may be cut").
 */
export async function listChanges(
  deps: MirrorDeps,
  query: ListQuery,
  listCap: number | null,
): Promise<Listing> {
  const wide = await listPart(deps, query, query.window)
  const reached = listCap !== null && wide.size >= listCap
  if (wide.size < LEAST_TO_COMPARE && !reached) return merge(wide, [wide], { cap: null, cut: [] })
  const parts = await listHalves(deps, query, wide)
  const cap = reached ? listCap : await findCap(deps, query, wide, parts)
  return cap === null ? merge(wide, [wide], { cap, cut: [] }) : expand(deps, query, wide, parts, cap)
}

/**
 * Lists everything and compares the one wide list with its halves and with its yearly windows; when they bring more,
 * the service cuts its lists at `cap`, and every part that reaches it is split further.
 */
export async function listEverything(
  deps: MirrorDeps,
  query: Omit<ListQuery, 'updatedFrom'>,
): Promise<Listing> {
  const whole: ListQuery = { ...query, updatedFrom: undefined }
  const wide = await listPart(deps, whole, query.window)
  const [halves, years] = await Promise.all([
    wide.size < LEAST_TO_COMPARE ? [] : listHalves(deps, whole, wide),
    Promise.all(splitByYears(query.window).map((year) => listPart(deps, whole, year))),
  ])
  const parts = [...halves, ...years]
  const cap = await findCap(deps, whole, wide, parts)
  return cap === null ? merge(wide, [wide], { cap, cut: [] }) : expand(deps, whole, wide, parts, cap)
}

async function listHalves(deps: MirrorDeps, query: ListQuery, part: ListPart): Promise<ListPart[]> {
  const starts = [...part.entries.values()].map(({ startedAt }) => startedAt)
  const halves = splitInHalves(part.window, starts)
  if (!halves) return []
  const [older, newer] = halves
  return [await listPart(deps, query, older), await listPart(deps, query, newer)]
}

/** The length at which the wide list was cut; null when the parts bring nothing that a second look at it has not. */
async function findCap(
  deps: MirrorDeps,
  query: ListQuery,
  wide: ListPart,
  parts: readonly ListPart[],
): Promise<number | null> {
  const more = parts.flatMap((part) => [...part.entries.keys()]).filter((path) => !wide.entries.has(path))
  if (more.length === 0) return null
  // It may only have come in the meantime.
  const again = await listPart(deps, query, query.window)
  if (more.every((path) => again.entries.has(path))) return null
  return Math.max(1, again.size)
}

async function expand(
  deps: MirrorDeps,
  query: ListQuery,
  wide: ListPart,
  parts: readonly ListPart[],
  cap: number,
): Promise<Listing> {
  const leaves: ListPart[] = []
  const cut: Window[] = []
  const open = parts.length > 0 ? [...parts] : [wide]
  for (let part = open.pop(); part; part = open.pop()) {
    leaves.push(part)
    if (part.size < cap) continue
    // With a cap of one there is no end to splitting, and no list that is known to be whole.
    const halves = cap < LEAST_TO_COMPARE ? [] : await listHalves(deps, query, part)
    if (halves.length === 0) cut.push(part.window)
    open.push(...halves)
  }
  return merge(wide, leaves, { cap, cut })
}

function merge(
  wide: ListPart,
  leaves: readonly ListPart[],
  found: { cap: number | null; cut: Window[] },
): Listing {
  const entries = new Map([wide, ...leaves].flatMap((part) => [...part.entries]))
  return {
    entries: [...entries.values()],
    bad: leaves.flatMap((part) => part.bad),
    drift: leaves.flatMap((part) => part.drift),
    // Every part was asked for later than the wide list.
    requestedAt: wide.requestedAt,
    knownUpTo: wide.knownUpTo,
    ...found,
  }
}

/** What is asked of the activity list (service document, endpoint 9). */
type ListQuery = {
  account: Account
  window: Window
  /** only what has changed since, by the service's clock; undefined: everything */
  updatedFrom: Date | undefined
  signal?: AbortSignal | undefined
}

/** The answer to one request for a list; `entries` by path. */
type ListPart = {
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

/** A span of activity starts, both ends named; the service counts in whole seconds. */
export type Window = Readonly<{ from: Date; to: Date }>

/**
 * Splits a window by years from its beginning; the last part may be shorter. Neighbours share their boundary, so that
 * nothing is missed whichever ends the service counts in.
 */
export function splitByYears(window: Window): Window[] {
  const parts: Window[] = []
  let from = window.from
  while (from < window.to) {
    const next = new Date(from)
    next.setUTCFullYear(from.getUTCFullYear() + 1)
    const to = next < window.to ? next : window.to
    parts.push({ from, to })
    from = to
  }
  return parts
}

/**
 * Splits a window so that half of the listed `starts` lie on each side: a list that was cut must then bring more in
 * two halves, whichever entries it left out. Without any start it splits in the middle. Undefined when the window is
 * too small to be split, one second.
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
  // The middle one begins the upper half, so that the lower one holds what is older than a crowd at one moment.
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
