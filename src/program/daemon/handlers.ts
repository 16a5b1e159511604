import {
  type CoreHandlers,
  type HandlerContext,
  type HandlerResult,
  scrubOf,
} from '../../core/jobs/catalog.ts'
import type { Jobs } from '../../core/jobs/jobs.ts'
import { scrubActivities } from '../../core/mirror/compare-activities.ts'
import type { MirrorCounts, MirrorDeps, MirrorInput } from '../../core/mirror/mirror.ts'
import { mirrorActivity } from '../../core/mirror/mirror-activity.ts'
import { ACTIVITIES, pollActivities } from '../../core/mirror/poll-activities.ts'
import { mirrorTrainingInfo } from '../../core/mirror/poll-training-info.ts'
import { mirrorWorkouts } from '../../core/mirror/poll-workouts.ts'
import { fitForms } from '../../core/mirror/rebuild-activities.ts'
import { reconcileActivities } from '../../core/mirror/reconcile-activities.ts'
import { updateRoutes } from '../../core/mirror/routes.ts'
import { updateAllTimeZones } from '../../core/mirror/time-zones.ts'
import { type Account, findAccountById, findAccounts } from '../../core/store/account-rows.ts'
import { findAccountStatuses } from '../../core/store/account-status.ts'
import {
  findAccountsWithWanted,
  findActivity,
  findWanted,
  type WantedActivity,
} from '../../core/store/activities/wanted.ts'
import { findChangedAccounts, findNewestChange } from '../../core/store/feed/change-rows.ts'
import { findCursor } from '../../core/store/runs.ts'
import { findPasses } from '../../core/store/store.ts'
import { findDueUploads, recordUploadsComplete } from '../../core/store/uploads/uploads.ts'
import { checkUpload } from '../../core/upload/check-upload.ts'
import { UnreadableLoginError } from '../../core/vault/seal.ts'
import { CredentialsRejectedError } from '../../kit/errors.ts'
import { DAY, formatDuration, MINUTE, SECOND } from '../../kit/time.ts'
import { type App, endPauses, pruneBookkeeping } from '../app/app.ts'
import { makeUploadDeps } from '../app/files/upload-files.ts'

/**
 * How many wanted activities a sweep enqueues for an account: about as many as are fetched until two sweeps later, so that accounts take
 * turns.
 */
const SWEEP_LIMIT = { min: 100, max: 10_000, minutes: 1 / 3 }
/** Activities that started within this time, ms, are new and are fetched before older activities. */
const NEW_WITHIN_MS = 14 * DAY

/** Makes the handlers of the core's jobs; `jobs` is a function because the queue needs the handlers first. */
export function makeHandlers(app: App, jobs: () => Jobs): CoreHandlers {
  const { store, mirror } = app
  const swept: Swept = {
    prunedAt: undefined,
    newestChange: undefined,
    toFit: new Set(),
    progressLoggedAt: 0,
  }
  return {
    'poll-activities': besidePasses(app, async (account, { signal }) => {
      const { inserted, marked } = await pollActivities(mirror, { account, signal })
      if (inserted + marked === 0) return undefined
      await enqueueWanted(app, jobs(), account)
      return { counts: { changed: inserted + marked } }
    }),
    'reconcile-activities': besidePasses(app, async (account, { signal }) => {
      // The first poll compares the whole list itself, so there is nothing to reconcile before it.
      const key = { accountId: account.accountId, resource: ACTIVITIES }
      if (!(await store.read((tx) => findCursor(tx, key)))) return undefined
      const found = await reconcileActivities(mirror, { account, signal })
      const changed = found.inserted + found.marked
      if (changed > 0) await enqueueWanted(app, jobs(), account)
      return changed + found.absent > 0 ? { counts: { changed, absent: found.absent } } : undefined
    }),
    'scrub-activities': besidePasses(app, async (account, { signal }) => {
      const scrub = scrubOf(app.config.mirror.scrubPerDay)
      if (!scrub) return undefined
      const counts = await scrubActivities(mirror, { account, limit: scrub.limit, signal })
      return counts.different ? { counts } : undefined
    }),
    'fetch-activity': besidePasses(app, async (account, { signal }, { activityId }) => {
      const activity = await store.read((tx) => findActivity(tx, activityId))
      if (activity && isToFetch(activity, mirror.now()))
        await mirrorActivity(mirror, { account, activity, signal })
    }),
    'refresh-token': ofAccount(app, async (account, { signal }) => {
      await app.service.forAccount(account).refreshTokenIfDue(signal)
    }),
    'check-upload': ofAccount(app, async (account, { signal }, { contentId }) => {
      await checkUpload(makeUploadDeps(app, jobs()), { account, contentId, signal })
    }),
    async sweep(_, { signal }) {
      await endPauses(app)
      const now = mirror.now()
      const uploads = await store.transaction(async (tx) => {
        await recordUploadsComplete(tx, { now })
        return findDueUploads(tx, { now, limit: UPLOAD_SWEEP_LIMIT })
      })
      if (uploads.length > 0) await jobs().enqueue('check-upload', uploads)
      let wanted = 0
      const { due, passes } = await store.read(async (tx) => ({
        due: await findAccountsWithWanted(tx, mirror.now()),
        passes: await findPasses(tx),
      }))
      for (const account of due) {
        if (!passes.includes(account.accountId)) wanted += await enqueueWanted(app, jobs(), account)
      }
      await logProgress(app, swept, wanted)
      // Time zones are computed again if the change feed has new rows of the account.
      const newest = await store.read(findNewestChange)
      if (newest !== swept.newestChange) {
        const changed = await store.read((tx) => findChangedAccounts(tx, swept.newestChange))
        for (const { accountId } of changed) swept.toFit.add(accountId)
        await updateAllTimeZones(app, changed)
      }
      swept.newestChange = newest
      // The form of an account is fitted when the account has nothing left to fetch, even if other accounts do.
      const busy = new Set(due.map(({ accountId }) => accountId))
      const ready = [...swept.toFit].filter((id) => !busy.has(id)).map((accountId) => ({ accountId }))
      await fitForms(app, ready, signal)
      for (const { accountId } of ready) swept.toFit.delete(accountId)
      await updateRoutes(mirror, signal)
      if (wanted === 0) await mirror.vacuum.whenIdle()
      await prune(app, swept)
      return undefined
    },
    ...makeTrainingHandlers(app),
  }
}

/**
 * Enqueues a fetch for every activity that is due: first new activities, then activities that were never fetched, last changed ones, as
 * after a recalculation of the whole history. An activity that is in the queue is not added again. Returns how many activities are due.
 */
async function enqueueWanted(
  app: Pick<App, 'config' | 'store' | 'mirror'>,
  jobs: Pick<Jobs, 'enqueue'>,
  account: Account,
): Promise<number> {
  const { accountId } = account
  const now = app.mirror.now()
  const { min, max, minutes } = SWEEP_LIMIT
  const limit = Math.min(max, Math.max(min, Math.ceil(app.config.service.requestsPerMinute * minutes)))
  const wanted = await app.store.read((tx) => findWanted(tx, { accountId, limit, now }))
  const newSince = new Date(now.getTime() - NEW_WITHIN_MS)
  for (const priority of ['new', 'normal', 'changed'] as const) {
    const payloads = wanted
      .filter((activity) => priorityOf(activity, newSince) === priority)
      .map(({ activityId }) => ({ accountId, activityId }))
    await jobs.enqueue('fetch-activity', payloads, { priority })
  }
  return wanted.length
}

/** Reports whether an activity is still due; it may have been fetched since the job was made. */
function isToFetch({ nextFetchAt, detailState }: WantedActivity, now: Date): boolean {
  return nextFetchAt ? nextFetchAt <= now : detailState !== 'mirrored'
}

function priorityOf(activity: WantedActivity, newSince: Date): 'new' | 'normal' | 'changed' {
  if (activity.startedAt !== null && activity.startedAt >= newSince) return 'new'
  return activity.fetchedAt === null ? 'normal' : 'changed'
}

/** Maximum number of uploads for which a sweep enqueues a check; the next sweep takes the others. */
const UPLOAD_SWEEP_LIMIT = 1_000

/** Makes the handlers of the jobs for training info and workouts. */
export function makeTrainingHandlers(
  app: Pick<App, 'store' | 'vault' | 'mirror'>,
): Pick<CoreHandlers, 'poll-training-info' | 'poll-workouts'> {
  const handler = (useCase: (deps: MirrorDeps, input: MirrorInput) => Promise<MirrorCounts>) =>
    ofAccount(app, async (account, { signal }) => {
      const counts = await useCase(app.mirror, { account, signal })
      return counts.changed + counts.fetched + counts.failed > 0 ? { counts } : undefined
    })
  return { 'poll-training-info': handler(mirrorTrainingInfo), 'poll-workouts': handler(mirrorWorkouts) }
}

/**
 * Makes the handler of an account's job. It does nothing if the account is gone, and parks the account if its tokens cannot be read. It
 * also tries accounts that need a login, because the last token may still be valid. If such an account's token is refused, this throws
 * nothing, because status, the dashboard and the doctor already show the refusal.
 */
function ofAccount<P extends { accountId: number }>(
  app: Pick<App, 'store' | 'vault'>,
  work: (account: Account, context: HandlerContext, payload: P) => Promise<HandlerResult>,
): (payload: P, context: HandlerContext) => Promise<HandlerResult> {
  return async (payload, context) => {
    const account = await app.store.read((tx) => findAccountById(tx, payload.accountId))
    if (!account) return undefined
    try {
      return await work(account, context, payload)
    } catch (error) {
      if (error instanceof UnreadableLoginError) return void (await app.vault.parkUnreadable(error))
      if (account.needsLogin && error instanceof CredentialsRejectedError) return undefined
      throw error
    }
  }
}

/**
 * Makes the handler of a job that requests activities, as ofAccount does. The handler does nothing while a verb has a pass of the account,
 * because both would fetch the same activities. The next poll and sweep find what is left.
 */
function besidePasses<P extends { accountId: number }>(
  app: Pick<App, 'store' | 'vault'>,
  work: Parameters<typeof ofAccount<P>>[1],
): ReturnType<typeof ofAccount<P>> {
  return ofAccount<P>(app, async (account, context, payload) => {
    const passes = await app.store.read(findPasses)
    return passes.includes(account.accountId) ? undefined : work(account, context, payload)
  })
}

/** What earlier sweeps of this process did, so that a sweep does not repeat that work; times are in ms since 1970. */
type Swept = Record<'prunedAt' | 'newestChange', number | undefined> & {
  /** accounts with changes since their form was fitted */
  toFit: Set<number>
  progressLoggedAt: number
}

/** How often old bookkeeping rows are deleted, ms: about a hundred rows become old in a day. */
const PRUNE_EVERY_MS = DAY

/** Deletes old bookkeeping rows of all accounts: in each sweep until none are left, then once a day. */
async function prune(app: Pick<App, 'store' | 'mirror'>, swept: Swept): Promise<void> {
  const now = app.mirror.now().getTime()
  if (swept.prunedAt !== undefined && Math.abs(now - swept.prunedAt) < PRUNE_EVERY_MS) return
  let deleted = 0
  for (const { accountId } of await app.store.read(findAccounts)) {
    deleted += await pruneBookkeeping(app, accountId)
  }
  if (deleted === 0) swept.prunedAt = now
}

/** How often the progress of a long backfill is logged, ms. */
const PROGRESS_EVERY_MS = MINUTE
/** Minimum number of activities for which progress is logged, because fewer activities are fetched within seconds. */
const PROGRESS_FROM = 20

/** Logs how many activities of each account are left to fetch, at most once a minute. */
async function logProgress(
  app: Pick<App, 'store' | 'log' | 'mirror'>,
  swept: Swept,
  left: number,
): Promise<void> {
  const now = app.mirror.now().getTime()
  if (left < PROGRESS_FROM || Math.abs(now - swept.progressLoggedAt) < PROGRESS_EVERY_MS) return
  swept.progressLoggedAt = now
  for (const status of await app.store.read(findAccountStatuses)) {
    const { account, activities, wanted, fetched_per_minute: rate, seconds_to_go: seconds } = status
    if (wanted < PROGRESS_FROM) continue
    const pace = rate !== null && { perMinute: Math.round(rate) }
    const toGo = seconds !== null && { toGo: formatDuration(seconds * SECOND) }
    app.log.info(
      { account, done: activities - wanted, total: activities, ...pace, ...toGo },
      'fetching activities',
    )
  }
}
