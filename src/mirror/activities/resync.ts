import { ConfigError } from '../../kit/errors.ts'
import { recordRefetch } from '../../store/activities/refetch.ts'
import type { MirrorDeps, MirrorOptions } from '../account.ts'
import type { FetchCounts } from './fetch-all.ts'
import { type FetchWantedInput, fetchWanted } from './fetch-wanted.ts'

/** Which activities to fetch again: those named, or those that started at `since` or later. */
export type ResyncChoice = { paths: readonly string[] } | { since: Date }

/**
 * Marks activities so that everything of them, their samples too, is fetched again and rewritten, and then fetches what
 * is wanted. Throws ConfigError `unknown_activity` and marks nothing when a path is not mirrored or is absent.
 */
export async function resyncActivities(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: FetchWantedInput & { choice: ResyncChoice },
): Promise<FetchCounts & { marked: number }> {
  const { choice } = input
  const { accountId, name } = input.account
  const marked = await deps.store.transaction(async (tx) => {
    const found = await recordRefetch(tx, { accountId, wantedAt: deps.now(), ...choice })
    if (!('paths' in choice)) return found
    const missing = choice.paths.filter((path) => !found.includes(path))
    if (missing.length === 0) return found
    throw new ConfigError(
      'unknown_activity',
      `account "${name}" has no activity ${missing.slice(0, 5).join(', ')} that the service lists; ` +
        'the paths are in: musette sql "select path from training.activities where absent_since is null"',
    )
  })
  deps.log.info({ account: name, marked: marked.length }, 'activities marked to be fetched again')
  return { marked: marked.length, ...(await fetchWanted(deps, options, input)) }
}
