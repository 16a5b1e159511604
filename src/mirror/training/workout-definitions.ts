import { errorLine, isAbort, TransientError, UnexpectedResponseError } from '../../kit/errors.ts'
import { parseJson } from '../../kit/json.ts'
import { isSameSignature, type Signature } from '../../normalize/same-training-info.ts'
import { normalizeDefinition } from '../../normalize/workout-rows.ts'
import { recordDrift } from '../../store/drift.ts'
import { findTrainingInfo } from '../../store/training/training-info-rows.ts'
import {
  type DefinitionState,
  findDefinitionStates,
  recordDefinition,
  recordDefinitionFailure,
} from '../../store/training/workout-sets.ts'
import { fetchServiceState, isItemFailure, OUTAGE_AFTER } from '../item-failure.ts'
import { type MirrorDeps, type MirrorInput, type RunTally, withRun } from '../mirror.ts'
import { poorerDefinition } from '../poorer-answers.ts'

const DEFINITIONS = 'workout_definitions'

export type WorkoutsInput = MirrorInput & { failedBefore?: Date | undefined }

/**
 * Mirrors the definitions of the listed workouts, resolved for the rider (service document, endpoint 7): of those never resolved, and of
 * those whose entry or rider's signature has changed. One that fails is counted, logged and marked in its row; it keeps its sets and is
 * fetched again at the next run, with `failedBefore` when it failed before that time. An outage ends the run.
 */
export async function mirrorDefinitions(deps: MirrorDeps, input: WorkoutsInput): Promise<RunTally> {
  const { accountId, baseUrl } = input.account
  return withRun(deps.store, { accountId, resource: DEFINITIONS, kind: 'fetch' }, async (tally) => {
    const { states, signature } = await deps.store.read(async (tx) => ({
      states: await findDefinitionStates(tx, { accountId, baseUrl }),
      signature: signatureOf(await findTrainingInfo(tx, accountId)),
    }))
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
  // Without a signature a change is unknown.
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

function signatureOf(info: Signature | undefined): Signature {
  const { ftp = null, ltp = null, hie = null, pp = null } = info ?? {}
  return { ftp, ltp, hie, pp }
}
