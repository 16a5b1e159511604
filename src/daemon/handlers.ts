import type { Handlers, Jobs } from '../jobs/jobs.ts'
import { CredentialsRejectedError } from '../kit/errors.ts'
import { fetchActivity } from '../mirror/activities/fetch.ts'
import { pollActivities } from '../mirror/activities/poll.ts'
import { type Account, findAccountById, findAccounts } from '../store/accounts.ts'
import { findActivity, findWanted } from '../store/activities/wanted.ts'
import type { House } from './house.ts'

/** How many wanted activities one sweep enqueues for an account; the next sweep brings the rest. */
const SWEEP_LIMIT = 10_000
/** An activity that started this long before it is enqueued is history: rides of these days overtake it. */
const NEW_WITHIN_DAYS = 14

/** Makes the handler of every job in the catalog; `jobs` is asked for late, because the queue needs the handlers first. */
export function makeHandlers(house: House, jobs: () => Jobs): Handlers {
  const { store, mirror, mirrorOptions } = house
  return {
    async 'poll-activities'({ accountId }, { signal }) {
      const account = await findAccount(house, accountId)
      if (!account) return undefined
      const polled = await unlessParked(account, () =>
        pollActivities(mirror, mirrorOptions, { account, signal }),
      )
      const changed = polled ? polled.inserted + polled.marked : 0
      if (changed > 0) await enqueueWanted(house, jobs(), account)
      return changed > 0 ? { counts: { changed } } : undefined
    },
    async 'fetch-activity'({ accountId, activityId }, { signal }) {
      const account = await findAccount(house, accountId)
      const activity = await store.read((tx) => findActivity(tx, activityId))
      const due = activity && (!activity.nextFetchAt || activity.nextFetchAt <= mirror.now())
      if (!account || !due || activity.detailState === 'mirrored') return undefined
      await unlessParked(account, () => fetchActivity(mirror, mirrorOptions, { account, activity, signal }))
      return undefined
    },
    async 'refresh-token'({ accountId }, { signal }) {
      const account = await findAccount(house, accountId)
      if (account) await house.service.forAccount(account).refreshTokenIfDue(signal)
      return undefined
    },
    async sweep() {
      for (const account of await store.read(findAccounts)) {
        if (!account.needsLogin) await enqueueWanted(house, jobs(), account)
      }
      return undefined
    },
  }
}

/** Enqueues a fetch for every activity that is due; what is in the queue already stays there once. */
async function enqueueWanted(house: House, jobs: Jobs, account: Account): Promise<number> {
  const { accountId } = account
  const now = house.mirror.now()
  const wanted = await house.store.read((tx) => findWanted(tx, { accountId, limit: SWEEP_LIMIT, now }))
  const newSince = new Date(now.getTime() - NEW_WITHIN_DAYS * 86_400_000)
  const isNew = (startedAt: Date | null) => startedAt !== null && startedAt >= newSince
  const payload = ({ activityId }: { activityId: number }) => ({ accountId, activityId })
  const rides = wanted.filter((activity) => isNew(activity.startedAt)).map(payload)
  const history = wanted.filter((activity) => !isNew(activity.startedAt)).map(payload)
  await jobs.enqueue('fetch-activity', rides, { priority: 'new' })
  await jobs.enqueue('fetch-activity', history, { priority: 'backfill' })
  return wanted.length
}

async function findAccount(house: House, accountId: number): Promise<Account | undefined> {
  return house.store.read((tx) => findAccountById(tx, accountId))
}

/**
 * An account that is known to need a login is tried, because its last token may still serve, but its refusal is no
 * news: it was said when the login ended, and status, the dashboard and doctor go on saying it.
 */
async function unlessParked<T>(account: Account, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (account.needsLogin && error instanceof CredentialsRejectedError) return undefined
    throw error
  }
}
