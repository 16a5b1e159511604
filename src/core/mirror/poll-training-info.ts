import { errorLine, RejectedError, UnexpectedResponseError } from '../../kit/errors.ts'
import { parseJson } from '../../kit/json.ts'
import { DAY } from '../../kit/time.ts'
import { makeRow } from '../fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../fields/training-fields.ts'
import { isSameTrainingInfo } from '../normalize/training-rows.ts'
import { recordDrift } from '../store/drift.ts'
import { type RunTally, withRun } from '../store/runs.ts'
import {
  findTrainingInfo,
  findWorkoutFiles,
  recordTrainingInfo,
  recordWorkoutFile,
  recordWorkoutUrl,
  type TrainingInfo,
  type WorkoutFormat,
} from '../store/training-info-rows.ts'
import { assertAccepted, poorerTrainingInfo } from './failures.ts'
import type { MirrorCounts, MirrorDeps, MirrorInput } from './mirror.ts'

const TRAINING_INFO = 'training_info'

/** Mirrors signature, status and loads (endpoint 3), then the workout of the day. Takes one request if nothing changed. */
export async function mirrorTrainingInfo(deps: MirrorDeps, input: MirrorInput): Promise<MirrorCounts> {
  const { changed } = await pollTrainingInfo(deps, input)
  const ofDay = await mirrorWorkoutOfDay(deps, input)
  return { changed, fetched: ofDay.fetched, failed: ofDay.failed }
}

/**
 * Polls training info (service document, endpoint 3) and records a row if it changed; `changed` is then 1. Throws UnexpectedResponseError
 * `poorer_answer` and records nothing if the response lacks a whole part that the last row has.
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

const FORMATS: readonly WorkoutFormat[] = ['erg', 'zwo']
/** How long a file is kept before it is refetched even if its workout and signature have not changed. */
const FRESH_FOR_MS = DAY

type Counts = { fetched: number; failed: number }

/**
 * Mirrors both files of the workout of the day that the newest training info names (service document, endpoints 3 and 4), then calls
 * `onWorkouts`, even if there is no workout. Refetches a file only if the workout or the signature changed, or after a day.
 */
async function mirrorWorkoutOfDay(deps: MirrorDeps, input: MirrorInput): Promise<Counts> {
  const { accountId } = input.account
  const info = await deps.store.read((tx) => findTrainingInfo(tx, accountId))
  const counts: Counts = { fetched: 0, failed: 0 }
  const due = info ? await findDueFormats(deps, info) : []
  if (info && due.length > 0) {
    const run = { accountId, resource: 'workout_of_day', kind: 'fetch' }
    await withRun(deps.store, run, async (tally) => {
      for (const format of due) {
        counts[await fetchFile(deps, input, { info, format })]++
        Object.assign(tally, counts)
      }
    })
  }
  for (const onWorkouts of deps.onWorkouts) if (!(await onWorkouts(input.account, 'day'))) counts.failed++
  return counts
}

/** Returns the workout in a training info: `none` if there is none today, undefined if the fields are missing. */
export function workoutOf(info: TrainingInfo | undefined): { workoutId: string } | 'none' | undefined {
  if (info?.wotdType?.toLowerCase() === 'none') return 'none'
  return info?.wotdType != null && info.wotdWorkoutId ? { workoutId: info.wotdWorkoutId } : undefined
}

function madeForOf(info: TrainingInfo) {
  const { ftp, ltp, hie, pp, wotdName, wotdDescription, wotdDifficulty } = info
  const entry = { name: wotdName, description: wotdDescription, difficulty: wotdDifficulty }
  return { signature: { ftp, ltp, hie, pp }, entry }
}

async function findDueFormats(deps: MirrorDeps, info: TrainingInfo): Promise<WorkoutFormat[]> {
  const workout = workoutOf(info)
  if (!workout || workout === 'none') return []
  const { workoutId } = workout
  const { accountId } = info
  const files = await deps.store.read((tx) => findWorkoutFiles(tx, { accountId, workoutId }))
  const staleBefore = deps.now().getTime() - FRESH_FOR_MS
  return FORMATS.filter((format) => {
    const file = files.find((one) => one.format === format)
    return (
      !file || file.fetchedAt.getTime() < staleBefore || !isSameTrainingInfo(file.madeFor, madeForOf(info))
    )
  })
}

/** Fetches one format. A failure is logged and counted, and does not stop the other format. */
async function fetchFile(
  deps: MirrorDeps,
  { account, signal }: MirrorInput,
  { info, format }: { info: TrainingInfo; format: WorkoutFormat },
): Promise<keyof Counts> {
  const { accountId } = info
  const service = deps.serviceOf(account)
  try {
    const named = await service.fetchTrainingInfo({ format }, signal)
    const { wotdWorkoutId: workoutId, wotdUrl: url } = named.value
    if (!workoutId || workoutId !== info.wotdWorkoutId) {
      throw new UnexpectedResponseError(
        'workout_changed',
        'the workout of the day changed while it was fetched; the next poll fetches the new one',
      )
    }
    if (!url) {
      throw new UnexpectedResponseError(
        'no_workout_url',
        `the service named no ${format} file for the workout of the day`,
      )
    }
    const file = await service.downloadWorkout(url, signal)
    await deps.store.transaction(async (tx) => {
      await recordWorkoutFile(tx, {
        ...{ accountId, workoutId, format, content: file.value },
        ...{ madeFor: madeForOf(info), fetchedAt: file.requestedAt },
      })
      await recordWorkoutUrl(tx, { accountId, workoutId, url })
    })
    return 'fetched'
  } catch (error) {
    if (!(error instanceof RejectedError || error instanceof UnexpectedResponseError)) throw error
    deps.log.error({ account: account.name, format, reason: errorLine(error) }, 'workout of the day failed')
    return 'failed'
  }
}
