import { compareActivities, type Verified } from '../../core/mirror/compare-activities.ts'
import { type MirrorCounts, retryWhenRateLimited } from '../../core/mirror/mirror.ts'
import { mirrorTrainingInfo } from '../../core/mirror/poll-training-info.ts'
import { mirrorWorkouts } from '../../core/mirror/poll-workouts.ts'
import { completeMeasures, fitForms } from '../../core/mirror/rebuild-activities.ts'
import {
  type FetchCounts,
  type Progress,
  type ResyncChoice,
  resyncActivities,
  syncActivities,
  unknownActivity,
} from '../../core/mirror/sync-activities.ts'
import type { Account } from '../../core/store/account-rows.ts'
import {
  countByState,
  findFetched,
  findToVerify,
  type VerifyChoice,
} from '../../core/store/activities/wanted.ts'
import { recordRunsAbandoned } from '../../core/store/runs.ts'
import { withPass } from '../../core/store/store.ts'
import { errorCode, errorLine, isAbort } from '../../kit/errors.ts'
import { HOUR, joinSignals, SECOND, sleep } from '../../kit/time.ts'
import { type App, endPauses, pruneBookkeeping } from './app.ts'
import { accountNamed, accountToUse } from './local-app.ts'

export type SyncCounts = Awaited<ReturnType<typeof syncAccount>>

type SyncApp = Pick<App, 'config' | 'vault' | 'mirror'>

type Watched = { name: string; signal?: AbortSignal; onProgress?: (progress: Progress) => void }

/**
 * Mirrors one account in this process, without the queue; `full` also reconciles. With `training`, training info and workouts are mirrored
 * at the same time, starting with the first fetched activity, because the activities may take hours; the counts include only their failures.
 * `created`: activities fetched for the first time by this pass. `mirrored` and `unfetched`: activities that are listed, after the pass.
 * `newestDay`: the day of the newest activity. Throws ConfigError `no_account`, UnreadableLoginError, and the errors of the pass.
 */
export async function syncAccount(
  app: SyncApp,
  input: Watched & { full?: boolean; acceptRemovals?: boolean; training?: boolean },
) {
  const { name, training, ...rest } = input
  const account = await beginPass(app, name)
  const { concurrency } = app.config.service
  const halt = joinSignals([rest.signal])
  const { full = false } = rest
  let trainingFailures: Promise<number> | undefined
  const begin = () => {
    const trainingInput = { account, full, signal: halt.signal }
    trainingFailures ??= training ? syncTraining(app, trainingInput) : Promise.resolve(0)
    // The error is thrown where this promise is awaited, after the activities.
    trainingFailures.catch(() => undefined)
    return trainingFailures
  }
  const onProgress = (progress: Progress) => {
    begin()
    rest.onProgress?.(progress)
  }
  try {
    const passInput = { ...rest, account, concurrency, onProgress }
    const { store } = app.mirror
    const before = await store.read((tx) => findFetched(tx, account.accountId))
    const counts = await syncActivities(app.mirror, passInput)
    const failed = await begin()
    await app.mirror.vacuum.whenIdle()
    await pruneBookkeeping(app.mirror, account.accountId)
    await completeMeasures(app.mirror, rest.signal)
    await fitForms(app.mirror, [account], rest.signal)
    const states = await store.read((tx) => countByState(tx, account.accountId))
    const { everFetched, newestDay } = await store.read((tx) => findFetched(tx, account.accountId))
    const created = Math.max(0, everFetched - before.everFetched)
    const here = { created, mirrored: states.mirrored, unfetched: states.wanted, newestDay }
    return { ...counts, ...here, failed: counts.failed + failed }
  } catch (error) {
    halt.abort(error)
    await trainingFailures?.catch(() => undefined)
    throw error
  } finally {
    halt.clear()
  }
}

/** How often a waiting pass checks whether the pass before it has ended, ms. */
const LOOK_EVERY_MS = SECOND

/**
 * Runs `work` as the only pass of an account, see withPass. If another process has a pass, returns undefined; with `wait`, runs after that
 * pass ends. `onWait` is called once, when a wait begins. Throws ConfigError `no_account`, and the signal's reason.
 */
export async function asPass<T extends object>(
  app: Pick<App, 'mirror'>,
  input: { name: string; wait: boolean; signal: AbortSignal; onWait: () => void },
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { store } = app.mirror
  const { accountId } = await accountNamed({ store }, input.name)
  for (let isWaiting = false; ; isWaiting = true) {
    const done = await withPass(store, accountId, work)
    if (done || !input.wait) return done
    if (!isWaiting) input.onWait()
    await sleep(LOOK_EVERY_MS, input.signal)
  }
}

/** Fetches activities of an account again and rewrites them, in this process. Throws as syncAccount does. */
export async function resyncAccount(
  app: SyncApp,
  input: Watched & { choice: ResyncChoice },
): Promise<FetchCounts & { marked: number }> {
  const { name, ...rest } = input
  const account = await beginPass(app, name)
  const { concurrency } = app.config.service
  const counts = await resyncActivities(app.mirror, { account, concurrency, ...rest })
  await app.mirror.vacuum.whenIdle()
  return counts
}

async function beginPass(app: SyncApp, name: string): Promise<Account> {
  const account = await accountToUse({ store: app.mirror.store, vault: app.vault }, name)
  // If the other process is alive, it will record the end of its run later.
  const { accountId } = account
  await app.mirror.store.transaction((tx) =>
    recordRunsAbandoned(tx, { startedBefore: new Date(), accountId }),
  )
  await endPauses(app)
  return account
}

/**
 * How often a failed workout is tried again, ms: once a day, as the daemon does, but less than 24 hours, because `sync` may run at a fixed
 * hour.
 */
const FAILED_WORKOUTS_EVERY_MS = 20 * HOUR

/**
 * Mirrors training info, the workout of the day and the workouts. Tries workouts that failed before only if they are due, or with `full`. A
 * failure is logged and counted and does not stop the other items; only an abort is thrown. Returns the number of failed items.
 */
export async function syncTraining(
  app: Pick<App, 'mirror'>,
  input: { account: Account; full?: boolean; signal?: AbortSignal },
): Promise<number> {
  const { account, full = false, signal } = input
  const deps = app.mirror
  const mirrorInput = { account, signal }
  const failedBefore = full ? undefined : new Date(deps.now().getTime() - FAILED_WORKOUTS_EVERY_MS)
  const steps: Array<readonly [string, () => Promise<MirrorCounts>]> = [
    ['training info', () => mirrorTrainingInfo(deps, mirrorInput)],
    ['workouts', () => mirrorWorkouts(deps, { ...mirrorInput, failedBefore })],
  ]
  let failed = 0
  for (const [what, step] of steps) {
    try {
      failed += (await retryWhenRateLimited(deps, step)).failed
    } catch (error) {
      if (isAbort(error, signal)) throw error
      failed++
      deps.log.error(
        { account: account.name, code: errorCode(error), reason: errorLine(error) },
        `${what} failed`,
      )
    }
  }
  return failed
}

/** The counts of a comparison; `older` activities changed while they were compared. */
export type VerifyCounts = Record<Verified['result'] | 'compared' | 'repaired', number>

/**
 * Compares mirrored activities of one account with the service, value by value, in this process. Writes nothing without `repair`; with it,
 * differences are recorded like any change. `onEnd` is called for each activity. An activity that fails is counted, and the others continue.
 * Throws ConfigError `no_account` and `unknown_activity`, UnreadableLoginError, CredentialsRejectedError, and the TransientError of an
 * outage.
 */
export async function verifyAccount(
  app: SyncApp,
  input: {
    name: string
    choice: VerifyChoice
    repair: boolean
    signal?: AbortSignal
    onEnd: (end: Verified, progress: Progress) => void
  },
): Promise<VerifyCounts> {
  const { choice, repair, signal, onEnd } = input
  const { mirror } = app
  const account = await accountToUse({ store: mirror.store, vault: app.vault }, input.name)
  const { accountId, name } = account
  const activities = await mirror.store.read((tx) => findToVerify(tx, { accountId, choice }))
  if ('paths' in choice) {
    const found = new Set(activities.map(({ path }) => path))
    const missing = choice.paths.filter((path) => !found.has(path))
    if (missing.length > 0) throw unknownActivity(name, missing)
  }
  const counts: VerifyCounts = { compared: 0, equal: 0, different: 0, repaired: 0, older: 0, failed: 0 }
  await compareActivities(mirror, {
    ...{ account, activities, repair, signal },
    atOnce: app.config.service.concurrency,
    onEnd(end) {
      counts.compared++
      counts[end.result]++
      if (end.result === 'different' && end.isRepaired) counts.repaired++
      onEnd(end, { done: counts.compared, total: activities.length, failed: counts.failed })
    },
  })
  return counts
}
