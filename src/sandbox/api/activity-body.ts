import { makeSessionData } from '../analysis/session-data.ts'
import { type Scored, scoreTrack } from '../analysis/strain.ts'
import { makeSummary, type Summary, thinSummary } from '../analysis/summary.ts'
import { sumTrack } from '../analysis/totals.ts'
import { simulateTrack } from '../athlete/ride.ts'
import { makeStartDate } from '../athlete/start-date.ts'
import { type Activity, hasSamples } from '../state/activity.ts'

/** An activity as GET /oauth/activity/<id> answers it. */
export type ActivityDetail = {
  success: true
  name: string
  description: string | null
  summary: Summary
  session_data?: unknown[]
}

/**
 * Writes the detail of an activity, with its seconds when asked. Until its samples are ready the summary is thin and
 * `session_data` empty.
 */
export function makeActivityDetail(
  activity: Activity,
  input: { nowMs: number; withSamples: boolean; texts: boolean },
): ActivityDetail {
  const named = { success: true as const, name: activity.name, description: activity.description }
  const startDate = makeStartDate(activity.startMs, activity.zone)
  if (!hasSamples(activity, input.nowMs)) {
    const summary = mergeDeep(
      thinSummary({ activityType: activity.activityType, startDate }),
      activity.summaryExtra,
    )
    return { ...named, summary, ...(input.withSamples ? { session_data: [] } : {}) }
  }
  const scored = scoreActivity(activity)
  const totals = sumTrack(scored)
  const written = makeSummary(
    {
      ...activity,
      startDate,
      indoor: activity.source.kind === 'ride' && activity.source.ride.indoor,
      day: startDate.date.slice(0, 10),
    },
    totals,
  )
  const summary = mergeDeep(written, activity.summaryExtra)
  if (!input.withSamples) return { ...named, summary }
  const extra = activity.sampleExtra
  const session = makeSessionData(scored, {
    seed: activity.seed,
    plain: activity.source.kind === 'file',
    texts: input.texts,
    extra,
  })
  return { ...named, session_data: session, summary }
}

/** Rides or replays an activity and scores it against the signature it has now. */
export function scoreActivity(activity: Activity): Scored {
  const { source } = activity
  const track =
    source.kind === 'file'
      ? source.track
      : simulateTrack({
          ...source.ride,
          seed: activity.seed,
          startMs: activity.startMs,
          seconds: activity.seconds,
          signature: activity.riddenWith,
          breakthrough: activity.breakthrough,
        })
  return scoreTrack(track, activity.signature, activity.scalePower)
}

/** Lays the changes over an object, level by level; anything but an object replaces what was there. */
export function mergeDeep(base: Summary, changes: Summary): Summary {
  const merged: Summary = { ...base }
  for (const [name, value] of Object.entries(changes)) {
    const old = merged[name]
    merged[name] = isObject(old) && isObject(value) ? mergeDeep(old, value) : value
  }
  return merged
}

function isObject(value: unknown): value is Summary {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
