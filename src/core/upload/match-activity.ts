import { MINUTE } from '../../kit/time.ts'
import type { Listed } from './upload-deps.ts'

/** Maximum difference between the starts of file and activity: a session, its first record and the service can differ by a minute. */
export const START_WITHIN_MS = 2 * MINUTE
/** Starts that differ by less than this count as equal, ms: services truncate or round to seconds. */
const SAME_MS = 1_500

export type Match = { kind: 'found'; path: string } | { kind: 'none' } | { kind: 'unclear'; paths: string[] }

/**
 * Chooses a FIT file's activity from the list: the activity that starts nearest to the file's start, within two minutes, and not nearer to a
 * rival's. Without such an activity, chooses an activity that starts exactly at another start of the file, and not at a rival's. Among equally
 * near activities, the one with the file's name. Pure.
 */
export function matchActivity(input: {
  startedAt: Date | null
  otherStarts?: readonly Date[]
  fileName: string
  candidates: readonly Listed[]
  rivals: readonly Date[]
}): Match {
  const { startedAt, otherStarts = [], candidates, rivals } = input
  const near = candidates
    .flatMap(({ path, name, startedAt: start }) => {
      const away = distanceTo(start, startedAt ? [startedAt] : [])
      return away <= START_WITHIN_MS && away <= distanceTo(start, rivals) + SAME_MS
        ? [{ path, name, away }]
        : []
    })
    .sort((a, b) => a.away - b.away)
  const exact = candidates
    .filter(({ startedAt: start }) => distanceTo(start, otherStarts) < SAME_MS)
    .filter(({ startedAt: start }) => distanceTo(start, rivals) >= SAME_MS)
    .map(({ path, name }) => ({ path, name, away: 0 }))
  return choose(near.length > 0 ? near : exact, input.fileName)
}

/** Returns the time between a start and the nearest of `moments`, ms. */
export function distanceTo(start: Date | null, moments: readonly Date[]): number {
  const away = (moment: Date) => Math.abs((start?.getTime() ?? Number.NaN) - moment.getTime())
  return moments.reduce((least, moment) => Math.min(least, away(moment)), Number.POSITIVE_INFINITY)
}

function choose(
  near: ReadonlyArray<{ path: string; name: string | null; away: number }>,
  fileName: string,
): Match {
  const [nearest] = near
  if (!nearest) return { kind: 'none' }
  const alike = near.filter(({ away }) => away - nearest.away < SAME_MS)
  if (alike.length === 1) return { kind: 'found', path: nearest.path }
  // An activity without its own name has the file's; services differ in whether they keep the extension.
  const ownNames = [fileName, fileName.replace(/\.fit$/i, '')]
  const named = alike.filter(({ name }) => name !== null && ownNames.includes(name))
  const [one] = named
  if (one && named.length === 1) return { kind: 'found', path: one.path }
  return { kind: 'unclear', paths: alike.map(({ path }) => path) }
}
