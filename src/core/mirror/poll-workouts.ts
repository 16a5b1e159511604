import {
  errorLine,
  isAbort,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../kit/errors.ts'
import { parseJson } from '../../kit/json.ts'
import {
  isSameSignature,
  normalizeDefinition,
  normalizeWorkoutEntry,
  type Signature,
} from '../normalize/training-rows.ts'
import type { Answer } from '../service/service.ts'
import type { WireWorkoutList } from '../service/wire/wire-workouts.ts'
import { recordDrift } from '../store/drift.ts'
import { type RunTally, withRun } from '../store/runs.ts'
import { acquireNamedLock } from '../store/store.ts'
import { findTrainingInfo } from '../store/training-info-rows.ts'
import {
  type DefinitionState,
  findDefinitionStates,
  findPresentWorkouts,
  type ListOwner,
  recordDefinition,
  recordDefinitionFailure,
  recordWorkoutsAbsent,
  upsertWorkouts,
} from '../store/workout-rows.ts'
import {
  assertAccepted,
  fetchServiceState,
  isItemFailure,
  isShrunken,
  OUTAGE_AFTER,
  poorerDefinition,
} from './failures.ts'
import type { MirrorCounts, MirrorDeps, MirrorInput } from './mirror.ts'
import { pollTrainingInfo } from './poll-training-info.ts'

/** Maximum number of workouts before an empty list that is accepted at once. */
const EMPTY_ALLOWED = 2

/**
 * Mirrors both workout lists (service document, endpoints 5 and 6), then the definitions of their workouts (endpoint 7), then calls
 * `onWorkouts`. With `failedBefore`, skips workouts that failed since then. RejectedError or UnexpectedResponseError of one list stops neither
 * the other list nor the definitions; the first is thrown at the end. Other errors, such as an outage or a rejected login, are thrown at once.
 */
export async function mirrorWorkouts(deps: MirrorDeps, input: WorkoutsInput): Promise<MirrorCounts> {
  const { accountId, baseUrl } = input.account
  const counts: MirrorCounts = { changed: 0, fetched: 0, failed: 0 }
  const errors: unknown[] = []
  const attempt = async (step: () => Promise<RunTally>) => {
    try {
      const tally = await step()
      counts.changed += tally.changed
      counts.fetched += tally.fetched
      counts.failed += tally.failed
    } catch (error) {
      if (!(error instanceof RejectedError || error instanceof UnexpectedResponseError)) throw error
      errors.push(error)
    }
  }
  const sources: readonly ListSource[] = [
    {
      resource: 'default_workouts',
      owner: { baseUrl },
      list: () => deps.listDefaultWorkouts(baseUrl, input.signal),
    },
    {
      resource: 'workouts',
      owner: { accountId },
      list: () => deps.serviceOf(input.account).listWorkouts(input.signal),
    },
  ]
  for (const source of sources) await attempt(() => pollList(deps, input, source))
  // The definitions depend on the signature, which is in the training info.
  const known = await deps.store.read((tx) => findTrainingInfo(tx, accountId))
  if (!known) await attempt(() => pollTrainingInfo(deps, input))
  await attempt(() => mirrorDefinitions(deps, input))
  for (const onWorkouts of deps.onWorkouts) if (!(await onWorkouts(input.account, 'saved'))) counts.failed++
  if (errors.length > 0) throw errors[0]
  return counts
}

type ListSource = { resource: string; owner: ListOwner; list: () => Promise<Answer<WireWorkoutList>> }

async function pollList(
  deps: MirrorDeps,
  { account }: MirrorInput,
  { resource, owner, list }: ListSource,
): Promise<RunTally> {
  const { accountId, name } = account
  return withRun(deps.store, { accountId, resource, kind: 'list' }, async (tally) => {
    const { value, requestedAt } = await list()
    const { entries: wire, bad, drift } = value
    tally.listed = wire.length
    tally.failed = bad.length
    const counts = await deps.store.transaction(async (tx) => {
      await acquireNamedLock(tx, 'workout list', 'baseUrl' in owner ? owner.baseUrl : owner.accountId)
      const entries = wire.map(normalizeWorkoutEntry)
      const listed = new Set(entries.map(({ path }) => path))
      const present = await findPresentWorkouts(tx, owner)
      const gone = present.filter((path) => !listed.has(path))
      const sizes = { before: present.length, gone: gone.length, listed: listed.size + bad.length }
      if (isShrunken({ ...sizes, emptyAllowed: EMPTY_ALLOWED })) {
        const message = `the service's list lacks ${gone.length} of ${present.length} workouts; musette changes nothing until the service has sent such lists for three days`
        const error = new UnexpectedResponseError('list_shrunken', message)
        await assertAccepted(tx, { accountId, resource, now: deps.now(), error })
      }
      await recordDrift(tx, resource, drift)
      const changed = await upsertWorkouts(tx, { owner, entries, listedAt: requestedAt })
      // With unreadable entries no workout is recorded as absent, because they may be the missing workouts.
      const paths = bad.length > 0 ? [] : gone
      return { changed, absent: await recordWorkoutsAbsent(tx, { owner, paths, absentSince: requestedAt }) }
    })
    Object.assign(tally, counts)
    const about = { account: name, resource }
    if (bad.length > 0) deps.log.error({ ...about, bad: bad.slice(0, 5) }, 'unreadable workout list entries')
    deps.log[counts.changed + counts.absent > 0 ? 'info' : 'debug'](
      { ...about, listed: tally.listed, ...counts },
      'workout list polled',
    )
    return tally
  })
}

const DEFINITIONS = 'workout_definitions'

type WorkoutsInput = MirrorInput & { failedBefore?: Date | undefined }

/**
 * Mirrors the definitions of the listed workouts, resolved for the rider (service document, endpoint 7), that were never resolved or whose
 * entry or rider's signature changed. A failure is counted, logged and recorded in the row, which keeps its sets. The next run retries it, or
 * with `failedBefore` only if it failed before then. An outage ends the run.
 */
async function mirrorDefinitions(deps: MirrorDeps, input: WorkoutsInput): Promise<RunTally> {
  const { accountId, baseUrl } = input.account
  return withRun(deps.store, { accountId, resource: DEFINITIONS, kind: 'fetch' }, async (tally) => {
    const { states, info } = await deps.store.read(async (tx) => ({
      states: await findDefinitionStates(tx, { accountId, baseUrl }),
      info: await findTrainingInfo(tx, accountId),
    }))
    const { ftp = null, ltp = null, hie = null, pp = null } = info ?? {}
    const signature: Signature = { ftp, ltp, hie, pp }
    tally.listed = states.length
    let failedInARow = 0
    for (const { path, hasSets } of states.filter(
      (state) => isStale(state, signature) && !isResting(state, input),
    )) {
      input.signal?.throwIfAborted()
      try {
        await fetchDefinition(deps, input, { path, hasSets, signature })
        tally.fetched++
        failedInARow = 0
      } catch (error) {
        if (isAbort(error, input.signal) || !isItemFailure(error)) throw error
        const failure = { accountId, path, failedAt: deps.now(), error: errorLine(error) }
        await deps.store.transaction((tx) => recordDefinitionFailure(tx, failure))
        if (error instanceof TransientError && ++failedInARow >= OUTAGE_AFTER) {
          if ((await fetchServiceState(deps, input)) === 'outage') throw error
          failedInARow = 0
        }
        tally.failed++
        deps.log.error({ account: input.account.name, path, reason: failure.error }, 'workout failed')
      }
    }
    tally.changed = tally.fetched
    return tally
  })
}

function isStale(state: DefinitionState, signature: Signature): boolean {
  if (!state.resolvedAt) return true
  if (state.changedAt && state.changedAt > state.resolvedAt) return true
  // Without a signature, a change cannot be seen.
  const isKnown = Object.values(signature).some((value) => value !== null)
  return isKnown && !isSameSignature(state.signature, signature)
}

function isResting({ failedAt, changedAt }: DefinitionState, { failedBefore }: WorkoutsInput): boolean {
  return (
    failedBefore !== undefined &&
    failedAt !== null &&
    failedAt > failedBefore &&
    !(changedAt && changedAt > failedAt)
  )
}

async function fetchDefinition(
  deps: MirrorDeps,
  input: MirrorInput,
  wanted: { path: string; hasSets: boolean; signature: Signature },
): Promise<void> {
  const { path, hasSets, signature } = wanted
  const answer = await deps.serviceOf(input.account).fetchWorkout(path, input.signal)
  const { bad, drift, workout: sets } = answer.value
  if (bad.length > 0) {
    throw new UnexpectedResponseError('bad_set', `workout ${path}: ${bad.length} of its sets cannot be read`)
  }
  if (hasSets && sets.length === 0) throw poorerDefinition(path)
  await deps.store.transaction(async (tx) => {
    await recordDrift(tx, 'workout/<path>', drift)
    await recordDefinition(tx, {
      ...{ accountId: input.account.accountId, path, signature, resolvedAt: answer.requestedAt },
      definition: normalizeDefinition(answer.value, parseJson(answer.body)),
    })
  })
}
