import { UnexpectedResponseError } from '../../kit/errors.ts'
import { DAY } from '../../kit/time.ts'
import { SUMMARY_FIELDS } from '../fields/activity-fields.ts'
import { camelCase, columnsOf } from '../fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../fields/training-fields.ts'
import type { DerivedDetail } from '../store/activities/activity-changes.ts'
import type { WantedActivity } from '../store/activities/wanted.ts'
import { findFailingSince } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import type { TrainingInfoRow } from '../store/training/training-info-rows.ts'

/** This many items may be missing whatever their share: a person deletes a few at a time. */
const ALWAYS_ALLOWED = 5
/** An answer about a whole resource that has less is accepted when the service has sent such answers for this long. */
const ACCEPTED_AFTER_MS = 3 * DAY
/** An activity with less is accepted at this fetch without a success between; the pauses before it are more than two days together. */
const ACCEPTED_AT_FETCH = 8

/**
 * Tells whether a list has lost so many items since the last time that it is more likely cut than true: it is empty and
 * `before` was above `emptyAllowed`, or it lacks more than five and more than a fifth.
 */
export function isShrunken(input: {
  before: number
  gone: number
  listed: number
  emptyAllowed: number
}): boolean {
  const { before, gone, listed, emptyAllowed } = input
  if (listed === 0) return before > emptyAllowed
  return gone > ALWAYS_ALLOWED && gone * 5 > before
}

/** Throws `error` unless the runs of its resource have failed with its code for three days. */
export async function assertAccepted(
  tx: Tx,
  input: { accountId: number; resource: string; now: Date; error: UnexpectedResponseError },
): Promise<void> {
  const { accountId, resource, now, error } = input
  const since = await findFailingSince(tx, { accountId, resource, errorCode: error.code })
  if (now.getTime() < (since ?? now).getTime() + ACCEPTED_AFTER_MS) throw error
}

/**
 * Finds what an answer about an activity lacks of what the mirror holds: most values of the summary, samples, or whole fields of
 * them (`lostFields`). Fewer samples are explained by a duration that is shorter, too, and none at all while they are awaited.
 * Returns undefined when it lacks nothing, and when the service has sent such answers for more than two days and this one has at
 * least some values and samples.
 */
export function poorerActivity(
  activity: WantedActivity,
  { row, samples }: Pick<DerivedDetail, 'row' | 'samples'>,
  { isAwaiting, lostFields }: { isAwaiting: boolean; lostFields: readonly string[] },
): UnexpectedResponseError | undefined {
  const { path, valueCount, sampleCount, duration } = activity
  const values = columnsOf(SUMMARY_FIELDS).filter((column) => row[column] !== null).length
  const isShorter = duration !== null && row.duration !== null && row.duration < duration
  const isExplained = samples.count === 0 ? isAwaiting : isShorter
  const lost = [
    ...(values * 2 < valueCount ? [`${valueCount - values} of its ${valueCount} values`] : []),
    ...(samples.count < sampleCount && !isExplained
      ? [`${sampleCount - samples.count} of its ${sampleCount} samples`]
      : []),
    ...(lostFields.length > 0 ? [`the fields ${lostFields.join(', ')} of its samples`] : []),
  ]
  const isEmpty = (valueCount > 0 && values === 0) || (sampleCount > 0 && samples.count === 0 && !isAwaiting)
  if (lost.length === 0 || (!isEmpty && activity.fetchAttempts + 1 >= ACCEPTED_AT_FETCH)) return undefined
  return poorer(`activity ${path}`, lost, 'it is fetched again')
}

/** The columns of parts of training info (service document, endpoint 3); an address may come and go. */
const PARTS = Object.entries(TRAINING_INFO_FIELDS)
  .filter(([column, { path }]) => path.includes('.') && column !== 'wotd_url')
  .map(([column, { path }]) => ({
    column: camelCase(column) as keyof TrainingInfoRow,
    part: path.replace(/\..*/, ''),
  }))

/** Returns the error for training info without a part that the mirror has; undefined when none is missing. */
export function poorerTrainingInfo(
  before: TrainingInfoRow | undefined,
  now: TrainingInfoRow,
): UnexpectedResponseError | undefined {
  const partsOf = (row: TrainingInfoRow | undefined) =>
    new Set(PARTS.filter(({ column }) => (row?.[column] ?? null) !== null).map(({ part }) => part))
  const sent = partsOf(now)
  const lost = [...partsOf(before)].filter((part) => !sent.has(part))
  return lost.length > 0
    ? poorer(
        'training info',
        lost,
        'they are accepted as gone when the service has left them out for three days',
      )
    : undefined
}

/** Returns the error for a workout's definition (service document, endpoint 7) without sets, where the mirror holds some. */
export function poorerDefinition(path: string): UnexpectedResponseError {
  return poorer(`workout ${path}`, ['all of its sets'], 'it is fetched again')
}

function poorer(what: string, lost: readonly string[], next: string): UnexpectedResponseError {
  return new UnexpectedResponseError(
    'poorer_answer',
    `${what}: the answer lacks ${lost.join(' and ')} that the service has sent before; the mirrored values stay, and ${next}`,
  )
}
