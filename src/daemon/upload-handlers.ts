import type { Jobs } from '../jobs/jobs.ts'
import { findAccountById } from '../store/accounts.ts'
import { findDueUploads, recordUploadsComplete } from '../store/uploads-due.ts'
import { settleUpload } from '../upload/settle.ts'
import type { House } from './house.ts'
import { unlessParked } from './unless-parked.ts'
import { makeUploadDeps } from './upload.ts'

/** How many uploads one sweep enqueues a look for; the next sweep brings the rest. */
const SWEEP_LIMIT = 1_000

/** Brings the ledger up to what the mirror knows, and enqueues a look for every upload that is due for one. */
export async function enqueueDueUploads(house: House, jobs: Jobs): Promise<void> {
  const now = house.mirror.now()
  const due = await house.store.transaction(async (tx) => {
    await recordUploadsComplete(tx, { now })
    return findDueUploads(tx, { now, limit: SWEEP_LIMIT })
  })
  if (due.length > 0) await jobs.enqueue('settle-upload', due)
}

/** Settles one upload by looking for its activity; the new activity is fetched at once. */
export async function settleUploadJob(
  house: House,
  jobs: Jobs,
  input: { accountId: number; contentId: string; signal: AbortSignal },
): Promise<void> {
  const { accountId, contentId, signal } = input
  const account = await house.store.read((tx) => findAccountById(tx, accountId))
  if (!account) return
  const deps = makeUploadDeps(house, async (activity) => {
    await jobs.enqueue('fetch-activity', [activity], { priority: 'new' })
  })
  await unlessParked(house, account, () => settleUpload(deps, { account, contentId, signal }))
}
