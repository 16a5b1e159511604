import { MINUTE } from '../kit/time.ts'
import type { Listed } from './upload-deps.ts'

/** A session's start, its first record and the service's own start can differ by a minute. */
export const START_WITHIN_MS = 2 * MINUTE
/** Starts that differ by less than this count as equal: services cut or round to seconds. */
const SAME_MS = 1_500

export type Match = { kind: 'found'; path: string } | { kind: 'none' } | { kind: 'unclear'; paths: string[] }

/**
 * Chooses the listed activity that came from a FIT file: the one whose start is nearest to the file's, at most two minutes
 * away, and not nearer to a rival's start. Of several equally near ones, the one with the file's name. Pure.
 */
export function matchActivity(input: {
  startedAt: Date
  fileName: string
  candidates: readonly Listed[]
  rivals: readonly Date[]
}): Match {
  const start = input.startedAt.getTime()
  const near = input.candidates
    .flatMap(({ path, name, startedAt }) => {
      if (!startedAt) return []
      const away = Math.abs(startedAt.getTime() - start)
      const rival = input.rivals.reduce(
        (least, other) => Math.min(least, Math.abs(startedAt.getTime() - other.getTime())),
        Number.POSITIVE_INFINITY,
      )
      return away <= START_WITHIN_MS && away <= rival + SAME_MS ? [{ path, name, away }] : []
    })
    .sort((a, b) => a.away - b.away)
  const [nearest] = near
  if (!nearest) return { kind: 'none' }
  const alike = near.filter(({ away }) => away - nearest.away < SAME_MS)
  if (alike.length === 1) return { kind: 'found', path: nearest.path }
  const named = alike.filter(({ name }) => name !== null && isNameOf(name, input.fileName))
  const [one] = named
  if (one && named.length === 1) return { kind: 'found', path: one.path }
  return { kind: 'unclear', paths: alike.map(({ path }) => path) }
}

/** An activity without a name of its own is named after its file; services differ in whether the extension stays. */
function isNameOf(name: string, fileName: string): boolean {
  return name === fileName || name === fileName.replace(/\.fit$/i, '')
}
