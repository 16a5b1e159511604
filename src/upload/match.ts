import type { Listed } from './deps.ts'
import { START_WITHIN_MS } from './pauses.ts'

export type Match = { kind: 'found'; path: string } | { kind: 'none' } | { kind: 'unclear'; paths: string[] }

/** Starts closer than this say nothing about which is nearer: services cut or round to seconds. */
const SAME_MS = 1_500

/**
 * Chooses the listed activity that a FIT file has become: the one whose start is nearest to the file's, two minutes away at
 * most, and to no rival's start nearer than to this. Of several that are as near, the one that bears the file's name.
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

/** Without a name of its own an activity is called after its file; services differ in whether the ending stays. */
function isNameOf(name: string, fileName: string): boolean {
  return name === fileName || name === fileName.replace(/\.fit$/i, '')
}
