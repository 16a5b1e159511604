import { DAY } from '../../kit/durations.ts'
import { UnexpectedResponseError } from '../../kit/errors.ts'
import type { KnownActivity } from '../../store/activities/absent.ts'
import type { Window } from './list/windows.ts'

/** A person may tidy up a handful of rides whatever their share of the history. */
const HANDFUL = 5
/** More than this share of what is present does not go by itself: the list is rather wrong than the history. */
const SHARE = 1 / 5
/** An accepted upload appears in the list when the service has analysed it: minutes as a rule, days at times. */
const UNLISTED_FOR_MS = 7 * DAY

/**
 * Finds the activities that a whole list of `window` names no more. `before` is what was known before the list was asked
 * for: what has been listed or wanted since is not judged by it. Nor is what starts outside of the window, or an upload
 * of these days that no list has named yet, unless the service has said that it does not exist.
 */
export function findRemoved(input: {
  before: readonly KnownActivity[]
  now: readonly KnownActivity[]
  listed: ReadonlySet<string>
  window: Window
}): { present: number; removed: KnownActivity[] } {
  const before = new Map(input.before.map((activity) => [activity.activityId, activity]))
  const present = input.now.filter(
    (activity) => activity.absentSince === null && isWithin(activity, input.window),
  )
  const removed = present.filter((activity) => {
    const was = before.get(activity.activityId)
    return was && isSame(was, activity) && !input.listed.has(activity.path) && !awaitsListing(activity, input)
  })
  return { present: present.length, removed }
}

/**
 * Refuses a list that would take away too much: everything, or more than a fifth and a handful. Throws
 * UnexpectedResponseError `list_shrunken` with the command that accepts it.
 */
export function assertPlausible(input: {
  account: string
  listed: number
  present: number
  removed: number
}): void {
  const { account, listed, present, removed } = input
  const empty = listed === 0 && present > 0
  if (!empty && (removed <= HANDFUL || removed <= present * SHARE)) return
  const name = account === 'default' ? '' : ` ${account}`
  throw new UnexpectedResponseError(
    'list_shrunken',
    `mirror, reconcile account "${account}": ${removed} of ${present} activities are missing in the list of the ` +
      `service, so nothing was changed; if they are really gone, run: musette sync${name} --full --accept-removals`,
  )
}

function isSame(before: KnownActivity, now: KnownActivity): boolean {
  return (
    before.listedAt.getTime() === now.listedAt.getTime() &&
    before.wantedAt.getTime() === now.wantedAt.getTime()
  )
}

function isWithin({ startedAt }: KnownActivity, { from, to }: Window): boolean {
  return startedAt === null || (startedAt >= from && startedAt <= to)
}

function awaitsListing({ name, startedAt, detailState, listedAt }: KnownActivity, input: { window: Window }) {
  const neverListed = name === null && startedAt === null
  const sinceMs = input.window.to.getTime() - listedAt.getTime()
  return neverListed && detailState !== 'failed' && sinceMs < UNLISTED_FOR_MS
}
