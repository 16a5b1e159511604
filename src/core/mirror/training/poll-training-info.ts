import { parseJson } from '../../../kit/json.ts'
import { makeRow } from '../../fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../../fields/training-fields.ts'
import { isSameTrainingInfo } from '../../normalize/same-training-info.ts'
import { recordDrift } from '../../store/drift.ts'
import { findTrainingInfo, recordTrainingInfo } from '../../store/training/training-info-rows.ts'
import { type MirrorCounts, type MirrorDeps, type MirrorInput, type RunTally, withRun } from '../mirror.ts'
import { assertAccepted, poorerTrainingInfo } from '../poorer-answers.ts'
import { mirrorWorkoutOfDay } from './poll-workout-of-day.ts'

const TRAINING_INFO = 'training_info'

/**
 * Mirrors signature, status and loads (service document, endpoint 3), then the workout of the day that they name. One
 * request when nothing has changed.
 */
export async function mirrorTrainingInfo(deps: MirrorDeps, input: MirrorInput): Promise<MirrorCounts> {
  const { changed } = await pollTrainingInfo(deps, input)
  const ofDay = await mirrorWorkoutOfDay(deps, input)
  return { changed, fetched: ofDay.fetched, failed: ofDay.failed }
}

/**
 * Polls training info (service document, endpoint 3) and records a row when it has changed; `changed` is 1 then. Throws
 * UnexpectedResponseError `poorer_answer` and records nothing when it lacks a whole part that the last row has.
 */
export async function pollTrainingInfo(deps: MirrorDeps, input: MirrorInput): Promise<RunTally> {
  const { accountId, name } = input.account
  return withRun(deps.store, { accountId, resource: TRAINING_INFO, kind: 'poll' }, async (tally) => {
    const answer = await deps.serviceOf(input.account).fetchTrainingInfo({}, input.signal)
    const { drift, ...wire } = answer.value
    const row = makeRow(TRAINING_INFO_FIELDS, wire)
    const result = await deps.store.transaction(async (tx) => {
      const error = poorerTrainingInfo(await findTrainingInfo(tx, accountId), row)
      if (error) await assertAccepted(tx, { accountId, resource: TRAINING_INFO, now: deps.now(), error })
      await recordDrift(tx, 'training_info', drift)
      return recordTrainingInfo(tx, {
        accountId,
        requestedAt: answer.requestedAt,
        row,
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
