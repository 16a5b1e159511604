import { parseJson } from '../kit/json.ts'
import { isSameTrainingInfo, normalizeTrainingInfo } from '../normalize/training-info-row.ts'
import { recordDrift } from '../store/drift.ts'
import { recordTrainingInfo } from '../store/training/training-info-rows.ts'
import { type MirrorCounts, type MirrorDeps, type MirrorInput, type RunTally, withRun } from './mirror.ts'
import { mirrorWorkoutOfDay } from './poll-workout-of-day.ts'

/**
 * Mirrors signature, status and loads (service document, endpoint 3), then the workout of the day that they name. One
 * request when nothing has changed.
 */
export async function mirrorTrainingInfo(deps: MirrorDeps, input: MirrorInput): Promise<MirrorCounts> {
  const { changed } = await pollTrainingInfo(deps, input)
  const ofDay = await mirrorWorkoutOfDay(deps, input)
  return { changed, fetched: ofDay.fetched, failed: ofDay.failed }
}

/** Polls training info (service document, endpoint 3) and records a row when it has changed; `changed` is 1 then. */
export async function pollTrainingInfo(deps: MirrorDeps, input: MirrorInput): Promise<RunTally> {
  const { accountId, name } = input.account
  return withRun(deps.store, { accountId, resource: 'training_info', kind: 'poll' }, async (tally) => {
    const answer = await deps.serviceOf(input.account).fetchTrainingInfo({}, input.signal)
    const { drift, ...wire } = answer.value
    const result = await deps.store.transaction(async (tx) => {
      await recordDrift(tx, 'training_info', drift)
      return recordTrainingInfo(tx, {
        accountId,
        requestedAt: answer.requestedAt,
        row: normalizeTrainingInfo({ ...wire, drift }),
        raw: parseJson(answer.body),
        isSame: isSameTrainingInfo,
      })
    })
    tally.fetched = 1
    tally.changed = result === 'new' ? 1 : 0
    deps.log[result === 'new' ? 'info' : 'debug']({ account: name, result }, 'training info polled')
    return tally
  })
}
