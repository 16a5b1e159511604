import { DAY } from '../../kit/durations.ts'
import { UnexpectedResponseError } from '../../kit/errors.ts'
import { isShrunken } from '../../normalize/coaching/shrunken.ts'
import { normalizeWorkoutEntry, rawEntriesByPath } from '../../normalize/coaching/workouts.ts'
import type { Answer } from '../../service/service.ts'
import type { WireWorkoutList } from '../../service/wire/workouts.ts'
import { findFailingSince } from '../../store/coaching/doubt.ts'
import { lockCoaching } from '../../store/coaching/lock.ts'
import {
  findPresentWorkouts,
  type ListOwner,
  recordWorkoutsAbsent,
  upsertWorkouts,
} from '../../store/coaching/workouts.ts'
import { recordDrift } from '../../store/drift.ts'
import type { Tx } from '../../store/store.ts'
import { type RunTally, withRun } from '../run.ts'
import type { CoachingDeps, CoachingInput } from './deps.ts'

export const DEFAULT_WORKOUTS = 'default_workouts'
export const OWN_WORKOUTS = 'workouts'

const LIST_SHRUNKEN = 'list_shrunken'
/** A shrunken list that the service has insisted on for so long is what it means to say. */
const BELIEVED_AFTER_MS = 3 * DAY

/** Mirrors the default workouts of the account's service (service document, endpoint 5), which needs no token. */
export async function pollDefaultWorkouts(deps: CoachingDeps, input: CoachingInput): Promise<RunTally> {
  const { baseUrl } = input.account
  return pollList(deps, input, {
    resource: DEFAULT_WORKOUTS,
    owner: { baseUrl },
    list: () => deps.listDefaultWorkouts(baseUrl, input.signal),
  })
}

/** Mirrors the rider's own workouts (service document, endpoint 6). */
export async function pollOwnWorkouts(deps: CoachingDeps, input: CoachingInput): Promise<RunTally> {
  const { accountId } = input.account
  return pollList(deps, input, {
    resource: OWN_WORKOUTS,
    owner: { accountId },
    list: () => deps.serviceOf(input.account).listWorkouts(input.signal),
  })
}

type ListSource = { resource: string; owner: ListOwner; list: () => Promise<Answer<WireWorkoutList>> }

async function pollList(deps: CoachingDeps, input: CoachingInput, source: ListSource): Promise<RunTally> {
  const { accountId, name } = input.account
  return withRun(deps.store, { accountId, resource: source.resource, kind: 'list' }, async (tally) => {
    const answer = await source.list()
    const { bad } = answer.value
    tally.listed = answer.value.entries.length
    tally.failed = bad.length
    const counts = await deps.store.transaction((tx) => recordList(tx, deps, { accountId, source, answer }))
    Object.assign(tally, counts)
    if (bad.length > 0) {
      deps.log.error(
        { account: name, resource: source.resource, bad: bad.slice(0, 5) },
        'workout list entries that cannot be read',
      )
    }
    deps.log[counts.changed + counts.absent > 0 ? 'info' : 'debug'](
      { account: name, resource: source.resource, listed: tally.listed, ...counts },
      'workout list polled',
    )
    return tally
  })
}

async function recordList(
  tx: Tx,
  deps: CoachingDeps,
  input: { accountId: number; source: ListSource; answer: Answer<WireWorkoutList> },
): Promise<{ changed: number; absent: number }> {
  const { accountId, answer, source } = input
  const { owner, resource } = source
  const { entries: wire, bad, drift } = answer.value
  await lockCoaching(tx, 'workout list', 'baseUrl' in owner ? owner.baseUrl : owner.accountId)
  const sent = rawEntriesByPath(answer.body)
  const entries = wire.map((entry) => normalizeWorkoutEntry(entry, sent.get(entry.path) ?? entry))
  const listed = new Set(entries.map(({ path }) => path))
  const present = await findPresentWorkouts(tx, owner)
  const gone = present.filter((path) => !listed.has(path))
  if (isShrunken({ before: present.length, gone: gone.length, listed: listed.size + bad.length })) {
    const since = await findFailingSince(tx, { accountId, resource, errorCode: LIST_SHRUNKEN })
    const believedFrom = (since ?? deps.now()).getTime() + BELIEVED_AFTER_MS
    if (deps.now().getTime() < believedFrom) throw shrunken(resource, present.length, gone.length)
  }
  await recordDrift(tx, resource, drift)
  const changed = await upsertWorkouts(tx, { owner, entries, listedAt: answer.requestedAt })
  // An entry that cannot be read may be any of those that seem to be gone.
  const paths = bad.length > 0 ? [] : gone
  const absent = await recordWorkoutsAbsent(tx, { owner, paths, absentSince: answer.requestedAt })
  return { changed, absent }
}

function shrunken(resource: string, before: number, gone: number): UnexpectedResponseError {
  return new UnexpectedResponseError(
    LIST_SHRUNKEN,
    `mirror, ${resource}: the list lacks ${gone} of ${before} workouts and is not believed; nothing is changed, and it counts when the service says the same for three days`,
  )
}
