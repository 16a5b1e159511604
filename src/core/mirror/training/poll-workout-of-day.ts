import { errorLine, RejectedError, UnexpectedResponseError } from '../../../kit/errors.ts'
import { DAY } from '../../../kit/time.ts'
import { isSameTrainingInfo } from '../../normalize/same-training-info.ts'
import {
  findTrainingInfo,
  recordWorkoutUrl,
  type TrainingInfo,
} from '../../store/training/training-info-rows.ts'
import {
  findWorkoutFiles,
  recordWorkoutFile,
  type WorkoutFormat,
} from '../../store/training/workout-files.ts'
import { type MirrorDeps, type MirrorInput, withRun } from '../mirror.ts'

const FORMATS: readonly WorkoutFormat[] = ['erg', 'zwo']
/** A file is fetched again after this time even when no input that we know of has changed. */
const FRESH_FOR_MS = DAY

type Counts = { fetched: number; failed: number }

/**
 * Mirrors the workout of the day that the newest training info names: both files into SQL (service document, endpoints 3
 * and 4); then `onWorkouts` is called, also without a workout of the day. A file is fetched again only when the workout or the signature
 * has changed or a day has passed.
 */
export async function mirrorWorkoutOfDay(deps: MirrorDeps, input: MirrorInput): Promise<Counts> {
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

/** Returns the workout in a training info: `none` when there is none today, undefined when the fields are missing. */
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

/** Fetches one format; a failure is logged and counted and does not stop the other format. */
async function fetchFile(
  deps: MirrorDeps,
  input: MirrorInput,
  wanted: { info: TrainingInfo; format: WorkoutFormat },
): Promise<keyof Counts> {
  try {
    await fetchFormat(deps, input, wanted)
    return 'fetched'
  } catch (error) {
    if (!(error instanceof RejectedError || error instanceof UnexpectedResponseError)) throw error
    deps.log.error(
      { account: input.account.name, format: wanted.format, reason: errorLine(error) },
      'workout of the day failed',
    )
    return 'failed'
  }
}

async function fetchFormat(
  deps: MirrorDeps,
  input: MirrorInput,
  wanted: { info: TrainingInfo; format: WorkoutFormat },
): Promise<void> {
  const { info, format } = wanted
  const { accountId } = info
  const service = deps.serviceOf(input.account)
  const named = await service.fetchTrainingInfo({ format }, input.signal)
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
  const file = await service.downloadWorkout(url, input.signal)
  await deps.store.transaction(async (tx) => {
    await recordWorkoutFile(tx, {
      ...{ accountId, workoutId, format, content: file.value },
      ...{ madeFor: madeForOf(info), fetchedAt: file.requestedAt },
    })
    await recordWorkoutUrl(tx, { accountId, workoutId, url })
  })
}
