import { type PassCounts, type Progress, syncActivities } from '../mirror/activities/pass.ts'
import { recordRunsAbandoned } from '../store/runs.ts'
import type { House } from './house.ts'
import { accountNamed } from './sign-in.ts'

/** Mirrors everything of one account in this process, without the queue. */
export async function syncAccount(
  house: House,
  input: { name: string; signal?: AbortSignal; onProgress?: (progress: Progress) => void },
): Promise<PassCounts> {
  const { name, ...rest } = input
  const account = await accountNamed(house, name)
  const { concurrency } = house.config.service
  // A run of a process that still lives writes its own end over this.
  const { accountId } = account
  await house.store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore: new Date(), accountId }))
  return syncActivities(house.mirror, house.mirrorOptions, { account, concurrency, ...rest })
}
