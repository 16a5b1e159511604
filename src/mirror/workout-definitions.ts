import { errorLine, RejectedError, TransientError, UnexpectedResponseError } from '../kit/errors.ts'
import { isSameSignature, type Signature } from '../normalize/training-info-row.ts'
import { normalizeWorkoutSets } from '../normalize/workout-rows.ts'
import { recordDrift } from '../store/drift.ts'
import { findTrainingInfo } from '../store/training-info.ts'
import {
  type DefinitionState,
  findDefinitionStates,
  recordDefinitionFailure,
  replaceWorkoutSets,
} from '../store/workouts.ts'
import { isOutage, OUTAGE_AFTER } from './fetch-failure.ts'
import { type CoachingInput, type MirrorDeps, type RunTally, withRun } from './mirror.ts'

export const DEFINITIONS = 'workout_definitions'

/**
 * Mirrors the definitions of every listed workout, resolved for the rider (service document, endpoint 7), that was never
 * resolved, or whose entry or the rider's signature has changed since. One that cannot be had is counted and named in the log
 * and in its row, keeps the sets it has, and is asked for again the next time; an outage ends the run.
 */
export async function mirrorDefinitions(deps: MirrorDeps, input: CoachingInput): Promise<RunTally> {
  const { accountId, baseUrl } = input.account
  return withRun(deps.store, { accountId, resource: DEFINITIONS, kind: 'fetch' }, async (tally) => {
    const { states, signature } = await deps.store.read(async (tx) => ({
      states: await findDefinitionStates(tx, { accountId, baseUrl }),
      signature: signatureOf(await findTrainingInfo(tx, accountId)),
    }))
    tally.listed = states.length
    let failedInARow = 0
    for (const { path } of states.filter((state) => isStale(state, signature))) {
      input.signal?.throwIfAborted()
      try {
        await fetchDefinition(deps, input, { path, signature })
        tally.fetched++
        failedInARow = 0
      } catch (error) {
        if (!isItsOwn(error)) throw error
        const failure = { accountId, path, failedAt: deps.now(), error: errorLine(error) }
        await deps.store.transaction((tx) => recordDefinitionFailure(tx, failure))
        if (error instanceof TransientError && ++failedInARow >= OUTAGE_AFTER) {
          if (await isOutage(deps, input)) throw error
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
  return !isSameSignature(state.signature, signature)
}

/** Whether a failure can be one workout's own; a 5xx can (the service is known to give one for a valid workout). */
function isItsOwn(error: unknown): boolean {
  if (error instanceof RejectedError || error instanceof UnexpectedResponseError) return true
  return error instanceof TransientError && ['server_error', 'cut_answer'].includes(error.code)
}

async function fetchDefinition(
  deps: MirrorDeps,
  input: CoachingInput,
  wanted: { path: string; signature: Signature },
): Promise<void> {
  const { path, signature } = wanted
  const answer = await deps.serviceOf(input.account).fetchWorkout(path, input.signal)
  const { workout, bad, drift } = answer.value
  if (bad.length > 0) {
    throw new UnexpectedResponseError(
      'bad_set',
      `mirror, workout ${path}: ${bad.length} of its sets cannot be read`,
    )
  }
  await deps.store.transaction(async (tx) => {
    await recordDrift(tx, 'workout/<path>', drift)
    await replaceWorkoutSets(tx, {
      ...{ accountId: input.account.accountId, path, signature },
      ...{ sets: normalizeWorkoutSets(workout), resolvedAt: answer.requestedAt },
    })
  })
}

function signatureOf(info: Signature | undefined): Signature {
  const { ftp = null, ltp = null, hie = null, pp = null } = info ?? {}
  return { ftp, ltp, hie, pp }
}
