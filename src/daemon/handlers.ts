import type { Handlers, Jobs } from '../jobs/jobs.ts'
import { DAY } from '../kit/durations.ts'
import { fetchActivity } from '../mirror/activities/fetch.ts'
import { pollActivities } from '../mirror/activities/poll.ts'
import { reconcileActivities } from '../mirror/activities/reconcile.ts'
import { type Account, findAccountById } from '../store/accounts.ts'
import { findActivity, findWanted, findWanting, type WantedActivity } from '../store/activities/wanted.ts'
import { makeCoachingHandlers } from './coaching-handlers.ts'
import { endPauses, type House } from './house.ts'
import { makeProgressLog } from './progress-log.ts'
import { isReconcileDue } from './reconcile-due.ts'
import { unlessParked } from './unless-parked.ts'
import { enqueueDueUploads, settleUploadJob } from './upload-handlers.ts'

/** How many wanted activities one sweep enqueues for an account; the next sweep brings the rest. */
const SWEEP_LIMIT = 10_000
/** An activity that started this long before it is enqueued is history: rides of these days overtake it. */
const NEW_WITHIN_MS = 14 * DAY

/** Makes the handler of every job in the catalog; `jobs` is asked for late, because the queue needs the handlers first. */
export function makeHandlers(house: House, jobs: () => Jobs): Handlers {
  const { store, mirror, mirrorOptions } = house
  const sayProgress = makeProgressLog(house)
  return {
    async 'poll-activities'({ accountId }, { signal }) {
      const account = await findAccount(house, accountId)
      if (!account) return undefined
      const polled = await unlessParked(house, account, () =>
        pollActivities(mirror, mirrorOptions, { account, signal }),
      )
      const changed = polled ? polled.inserted + polled.marked : 0
      if (changed > 0) await enqueueWanted(house, jobs(), account)
      return changed > 0 ? { counts: { changed } } : undefined
    },
    async 'reconcile-activities'({ accountId }, { signal }) {
      const account = await findAccount(house, accountId)
      if (!account || !(await isReconcileDue(house, accountId))) return undefined
      const found = await unlessParked(house, account, () =>
        reconcileActivities(mirror, mirrorOptions, { account, signal }),
      )
      const changed = found ? found.inserted + found.marked : 0
      if (changed > 0) await enqueueWanted(house, jobs(), account)
      return changed + (found?.absent ?? 0) > 0
        ? { counts: { changed, absent: found?.absent ?? 0 } }
        : undefined
    },
    async 'fetch-activity'({ accountId, activityId }, { signal }) {
      const account = await findAccount(house, accountId)
      const activity = await store.read((tx) => findActivity(tx, activityId))
      if (!account || !activity || !isToFetch(activity, mirror.now())) return undefined
      await unlessParked(house, account, () =>
        fetchActivity(mirror, mirrorOptions, { account, activity, signal }),
      )
      return undefined
    },
    async 'refresh-token'({ accountId }, { signal }) {
      const account = await findAccount(house, accountId)
      if (account)
        await unlessParked(house, account, () => house.service.forAccount(account).refreshTokenIfDue(signal))
      return undefined
    },
    async 'settle-upload'({ accountId, contentId }, { signal }) {
      await settleUploadJob(house, jobs(), { accountId, contentId, signal })
      return undefined
    },
    async sweep() {
      await endPauses(house)
      await enqueueDueUploads(house, jobs())
      let wanted = 0
      for (const account of await store.read((tx) => findWanting(tx, mirror.now()))) {
        wanted += await enqueueWanted(house, jobs(), account)
      }
      await sayProgress(wanted)
      if (wanted === 0) await mirror.upkeep.rest()
      return undefined
    },
    ...makeCoachingHandlers(house),
  }
}

/**
 * Enqueues a fetch for every activity that is due: rides of these days first, then what was never fetched, last what is
 * known and has changed, as after a recalculation of the whole history. What is in the queue already stays there once.
 */
async function enqueueWanted(house: House, jobs: Jobs, account: Account): Promise<number> {
  const { accountId } = account
  const now = house.mirror.now()
  const wanted = await house.store.read((tx) => findWanted(tx, { accountId, limit: SWEEP_LIMIT, now }))
  const newSince = new Date(now.getTime() - NEW_WITHIN_MS)
  for (const priority of ['new', 'normal', 'backfill'] as const) {
    const payloads = wanted
      .filter((activity) => priorityOf(activity, newSince) === priority)
      .map(({ activityId }) => ({ accountId, activityId }))
    await jobs.enqueue('fetch-activity', payloads, { priority })
  }
  return wanted.length
}

/** What became due when the job was made may have been fetched since. */
function isToFetch({ nextFetchAt, detailState }: WantedActivity, now: Date): boolean {
  return nextFetchAt ? nextFetchAt <= now : detailState !== 'mirrored'
}

function priorityOf(activity: WantedActivity, newSince: Date): 'new' | 'normal' | 'backfill' {
  if (activity.startedAt !== null && activity.startedAt >= newSince) return 'new'
  return activity.fetchedAt === null ? 'normal' : 'backfill'
}

async function findAccount(house: House, accountId: number): Promise<Account | undefined> {
  return house.store.read((tx) => findAccountById(tx, accountId))
}
