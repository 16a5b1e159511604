import { TransientError } from '../kit/errors.ts'
import { recordDetails } from '../store/activities/detail.ts'
import type { WantedActivity } from '../store/activities/wanted.ts'
import { recordDrift } from '../store/drift.ts'
import { recordUploadsMirrored } from '../store/uploads/uploaded-activities.ts'
import { askActivity, type Fetched, type FetchInput } from './fetch-activity.ts'
import { recordFailure } from './fetch-failure.ts'
import type { MirrorDeps, MirrorOptions } from './mirror.ts'

/**
 * Fetches one activity and records it. What cannot be used is recorded on the row, with when to try again, and thrown.
 */
export async function fetchActivity(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: FetchInput,
): Promise<FetchResult> {
  const fetched = await askActivity(deps, options, input)
  if (fetched === 'unchanged') return fetched
  const [end] = await recordFetched(deps, [fetched])
  if (end && 'result' in end) return end.result
  throw end?.error
}

const RESULTS = { mirrored: 'fetched', awaiting_samples: 'awaiting_samples' } as const

type FetchResult = 'fetched' | 'unchanged' | 'awaiting_samples' | 'older'

/** How fetching an activity ended. */
type FetchEnd = { activity: WantedActivity } & ({ result: FetchResult } | { error: unknown })

/**
 * Records answers, each with all that is made of it and a revision of what changed, in one transaction; when that fails,
 * half of them in each of two, and so on: what cannot be written keeps nothing else back. It is recorded on its row, with
 * when to try again. Returns how each ended; in an outage of the database all alike.
 */
export async function recordFetched(deps: MirrorDeps, fetched: readonly Fetched[]): Promise<FetchEnd[]> {
  const [one] = fetched
  if (!one) return []
  try {
    return await recordTogether(deps, fetched)
  } catch (error) {
    if (fetched.length > 1 && !isOutage(error)) {
      const half = Math.ceil(fetched.length / 2)
      const ends = await recordFetched(deps, fetched.slice(0, half))
      return [...ends, ...(await recordFetched(deps, fetched.slice(half)))]
    }
    const failure = { activity: one.activity, requestedAt: one.detail.requestedAt, error }
    const reason = await recordFailure(deps, failure).then(
      () => error,
      (unrecorded: unknown) => unrecorded,
    )
    return fetched.map(({ activity }) => ({ activity, error: reason }))
  }
}

async function recordTogether(deps: MirrorDeps, fetched: readonly Fetched[]): Promise<FetchEnd[]> {
  const recordedAt = deps.now()
  const details = fetched.map(({ detail }) => ({ ...detail, recordedAt }))
  const filled = details.filter(({ samples }) => samples.count > 0).map(({ activityId }) => activityId)
  const recorded = await deps.store.transaction(async (tx) => {
    const results = await recordDetails(tx, details)
    await recordUploadsMirrored(tx, { activityIds: filled, mirroredAt: deps.now() })
    // Last, because all activities share these rows: their locks are held for a moment and not through the COPY.
    await recordDrift(tx, 'activity/<id>', ...fetched.map(({ drift }) => drift))
    return results
  })
  const written = fetched.filter(
    ({ detail }, index) => recorded[index] === 'recorded' && detail.samples.count > 0,
  )
  if (written.length > 0)
    await deps.upkeep.written({
      samples: sum(written, ({ detail }) => detail.samples.count),
      replaced: sum(written, ({ activity }) => activity.sampleCount),
    })
  return fetched.map(({ activity, detail }, index) => ({
    activity,
    result: recorded[index] === 'older' ? 'older' : RESULTS[detail.detailState],
  }))
}

/** Whether no answer can be recorded for now, and not one of them only. */
function isOutage(error: unknown): boolean {
  return error instanceof TransientError && error.code !== 'database_busy'
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
