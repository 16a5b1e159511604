import type { FetchCounts } from '../mirror/activities/fetch-all.ts'
import type { Progress } from '../mirror/activities/fetch-wanted.ts'
import { type PassCounts, syncActivities } from '../mirror/activities/pass.ts'
import { type ResyncChoice, resyncActivities } from '../mirror/activities/resync.ts'
import type { Account } from '../store/accounts.ts'
import { countByState } from '../store/activities/counts.ts'
import { recordRunsAbandoned } from '../store/runs.ts'
import { syncCoaching } from './coaching.ts'
import { endPauses, type House } from './house.ts'
import { accountToUse } from './sign-in.ts'

/** What a pass counted, and how many of the listed activities are mirrored or still to be fetched after it. */
export type SyncCounts = PassCounts & { mirrored: number; unfetched: number }

type Watched = { name: string; signal?: AbortSignal; onProgress?: (progress: Progress) => void }

/**
 * Mirrors everything of one account in this process, without the queue; with `full` it reconciles, too. With `coaching`
 * training info and workouts come beside the activities, which may take hours, as soon as the first of these is there; only
 * their failures are counted.
 */
export async function syncAccount(
  house: House,
  input: Watched & { full?: boolean; acceptRemovals?: boolean; coaching?: boolean },
): Promise<SyncCounts> {
  const { name, coaching, ...rest } = input
  const account = await takeAccount(house, name)
  const { concurrency } = house.config.service
  const halt = new AbortController()
  const signal = rest.signal ? AbortSignal.any([rest.signal, halt.signal]) : halt.signal
  const { full = false } = rest
  let besides: Promise<number> | undefined
  const begin = () => {
    if (besides) return besides
    besides = coaching ? syncCoaching(house, { account, full, signal }) : Promise.resolve(0)
    // Whether it failed is asked when the activities are through.
    besides.catch(() => undefined)
    return besides
  }
  const onProgress = (progress: Progress) => {
    begin()
    rest.onProgress?.(progress)
  }
  try {
    const asked = { ...rest, account, concurrency, onProgress }
    const counts = await syncActivities(house.mirror, house.mirrorOptions, asked)
    const failed = await begin()
    await house.mirror.upkeep.rest()
    const states = await house.store.read((tx) => countByState(tx, account.accountId))
    const here = { mirrored: states.mirrored, unfetched: states.wanted }
    return { ...counts, ...here, failed: counts.failed + failed }
  } catch (error) {
    halt.abort(error)
    await besides?.catch(() => undefined)
    throw error
  }
}

/** Fetches activities of one account again and rewrites them, in this process. */
export async function resyncAccount(
  house: House,
  input: Watched & { choice: ResyncChoice },
): Promise<FetchCounts & { marked: number }> {
  const { name, ...rest } = input
  const account = await takeAccount(house, name)
  const { concurrency } = house.config.service
  const counts = await resyncActivities(house.mirror, house.mirrorOptions, { account, concurrency, ...rest })
  await house.mirror.upkeep.rest()
  return counts
}

async function takeAccount(house: House, name: string): Promise<Account> {
  const account = await accountToUse(house, name)
  // A run of a process that still lives writes its own end over this.
  const { accountId } = account
  await house.store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore: new Date(), accountId }))
  await endPauses(house)
  return account
}
