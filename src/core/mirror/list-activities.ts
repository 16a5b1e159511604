import { DAY, SECOND } from '../../kit/time.ts'
import { normalizeListEntry } from '../normalize/activity-answer.ts'
import { driftOfDate } from '../normalize/local-start.ts'
import type { Window } from '../service/list-in-parts.ts'
import type { BadItem, Drift } from '../service/wire/lenient.ts'
import type { Account } from '../store/account-rows.ts'
import type { ListedActivity } from '../store/activities/upsert-listed.ts'
import type { MirrorDeps } from './mirror.ts'

/** A complete list, except for what `bad` and `cut` name. */
export type Listing = Pick<ListPart, 'bad' | 'drift' | 'requestedAt' | 'knownUpTo'> & {
  entries: ListedActivity[]
  /** the most entries that the service sends in one list; null if comparing the list with its parts shows no cut */
  cap: number | null
  /** windows that cannot be split further although their lists reach the cap */
  cut: Window[]
  /** seconds whose lists are too large for a response; `bad` names them */
  unlisted: Window[]
}

/** Minimum length of a list that is compared with its halves: shorter lists would be cut only by a service that sends one entry at most. */
const MIN_TO_COMPARE = 2

/**
 * Lists the changed activities of a window (service document, endpoint 9); takes one request if there are none. Compares a list of two or more
 * entries with the lists of its halves, because the service may cut long lists silently. Splits a list that reaches `listCap`, or lacks
 * entries of its halves, until every part is shorter than the cap.
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
 * Lists the whole history (service document, endpoint 9) and compares this wide list with its halves and its yearly windows. If they have more
 * entries, the service cuts its lists at `cap`, and every part that reaches it is split further.
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

/** Returns the length at which the service cuts the wide list, or null if the service does not cut it. Takes one more request if the parts have more entries. */
async function fetchCap(deps: MirrorDeps, query: ListQuery, wide: ListPart, parts: readonly ListPart[]) {
  const more = parts.flatMap((part) => [...part.entries.keys()]).filter((path) => !wide.entries.has(path))
  if (more.length === 0) return null
  // A missing entry may only have been created after the wide list was sent.
  const again = await listPart(deps, query, query.window)
  if (more.every((path) => again.entries.has(path))) return null
  return Math.max(1, again.size)
}

/** Merges the wide list into a listing. If there is a cap, adds the parts, and splits each part that reaches the cap. */
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
    // With a cap of one entry, splitting would never end, and no list could be proved complete.
    const halves = cap < MIN_TO_COMPARE ? [] : await listHalves(deps, query, part)
    if (halves.length === 0) cut.push(part.window)
    open.push(...halves)
  }
  const entries = new Map([wide, ...leaves].flatMap((part) => [...part.entries]))
  return {
    entries: [...entries.values()],
    bad: leaves.flatMap((part) => part.bad),
    drift: leaves.flatMap((part) => part.drift),
    // The wide list is the oldest part.
    requestedAt: wide.requestedAt,
    knownUpTo: wide.knownUpTo,
    ...{ cap, cut, unlisted: query.unlisted },
  }
}

/** A query of the activity list (service document, endpoint 9). */
type ListQuery = {
  account: Account
  window: Window
  /** only changes since this time by the service's clock; undefined: everything */
  updatedFrom: Date | undefined
  /** seconds that are not requested, see listInParts; listing may add more */
  unlisted?: Window[]
  signal?: AbortSignal | undefined
}

/** The list of one window; `entries` by path. */
type ListPart = {
  window: Window
  entries: Map<string, ListedActivity>
  /** number of entries, including unreadable ones */
  size: number
  bad: readonly BadItem[]
  drift: readonly Drift[]
  requestedAt: Date
  /** the list has all changes up to this time by the service's clock; undefined without a Date header */
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
  // The list may be as old as the request, but the Date header has the time of the response.
  const took = deps.now().getTime() - requestedAt.getTime()
  return {
    window,
    entries: new Map(normalized.map((entry) => [entry.path, entry])),
    size: entries.length + bad.length,
    bad,
    drift: [
      // These come first, because the number of kept differences is limited.
      ...bad.map((item) => ({ field: 'activities[]', kind: 'type' as const, example: nameBad(item) })),
      ...drift,
      ...unreadable.flatMap((entry) => driftOfDate('activities[].start_date', entry)),
    ],
    requestedAt,
    knownUpTo: serviceTime && new Date(serviceTime.getTime() - Math.max(0, took)),
  }
}

/** Names an unreadable entry, with the reason. */
export function nameBad({ index, named, reason }: BadItem): string {
  return `${named === undefined ? `entry ${index + 1}` : JSON.stringify(named)} (${reason})`
}

/** A list entry, and when it was requested. */
export type Listed = { activity: ListedActivity; listedAt: Date }

/** Returns a function that fetches an activity's list entry, with one request (endpoint 9) for each month; undefined if it is not listed. */
export function makeEntryLookup(
  deps: MirrorDeps,
  input: Pick<ListQuery, 'account' | 'signal'>,
): (activity: { path: string; startedAt: Date | null }) => Promise<Listed | undefined> {
  const months = new Map<number, Promise<ListPart>>()
  return async ({ path, startedAt }) => {
    if (!startedAt) return undefined
    const [year, month] = [startedAt.getUTCFullYear(), startedAt.getUTCMonth()]
    const from = Date.UTC(year, month, 1)
    // The service may interpret the bounds as local times of some zone.
    const window = { from: new Date(from - DAY), to: new Date(Date.UTC(year, month + 1, 1) + DAY) }
    const part = months.get(from) ?? listPart(deps, { ...input, window, updatedFrom: undefined }, window)
    months.set(from, part)
    part.catch(() => months.delete(from))
    const { entries, requestedAt } = await part
    const activity = entries.get(path)
    return activity && { activity, listedAt: requestedAt }
  }
}

/** First yearly window: few activities are older. Earlier years form one part, unless the list has an activity in them. */
const YEARLY_FROM = Date.UTC(2000, 0, 1)

/**
 * Splits a window into years from `first` on, ms, and one part before. The last part begins within a year of `now` and includes future dates.
 * Adjacent parts share their boundary, so nothing is missed whether or not the service includes the bounds.
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
 * Splits a window so that each half has half of the listed `starts`: if the list was cut, its halves together have more entries, whichever are
 * missing. Splits in the middle if no start is known. Returns undefined for a window of one second, which cannot be split.
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
  // The median start begins the newer half, so the older half gets smaller even if many activities start in the same second.
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
