import { errorCode, errorLine, isAbort } from '../kit/errors.ts'
import { HOUR } from '../kit/time.ts'
import type { FetchCounts, Progress } from '../mirror/fetch-wanted.ts'
import { type MirrorCounts, retryWhenRateLimited } from '../mirror/mirror.ts'
import { mirrorTrainingInfo } from '../mirror/poll-training-info.ts'
import { findWorkoutsMirrored, mirrorWorkouts } from '../mirror/poll-workouts.ts'
import {
  type PassCounts,
  type ResyncChoice,
  resyncActivities,
  syncActivities,
} from '../mirror/sync-activities.ts'
import type { Account } from '../store/account-rows.ts'
import { countByState } from '../store/activities/wanted.ts'
import { recordRunsAbandoned } from '../store/runs.ts'
import { type App, endPauses } from './app.ts'
import { accountToUse } from './sign-in.ts'

/** What a pass counted, and how many of the listed activities are mirrored or still to be fetched after it. */
export type SyncCounts = PassCounts & { mirrored: number; unfetched: number }

type SyncApp = Pick<App, 'config' | 'vault' | 'mirror' | 'mirrorOptions'>

type Watched = { name: string; signal?: AbortSignal; onProgress?: (progress: Progress) => void }

/**
 * Mirrors one account in this process, without the queue; with `full` it reconciles, too. With `training`, training info and
 * workouts are mirrored beside the activities, which may take hours, from the moment the first activity is done; of them
 * only the failures are counted.
 */
export async function syncAccount(
  app: SyncApp,
  input: Watched & { full?: boolean; acceptRemovals?: boolean; training?: boolean },
): Promise<SyncCounts> {
  const { name, training, ...rest } = input
  const account = await beginPass(app, name)
  const { concurrency } = app.config.service
  const halt = new AbortController()
  const signal = rest.signal ? AbortSignal.any([rest.signal, halt.signal]) : halt.signal
  const { full = false } = rest
  let besides: Promise<number> | undefined
  const begin = () => {
    if (besides) return besides
    besides = training ? syncTraining(app, { account, full, signal }) : Promise.resolve(0)
    // A failure is thrown where the result is awaited, after the activities.
    besides.catch(() => undefined)
    return besides
  }
  const onProgress = (progress: Progress) => {
    begin()
    rest.onProgress?.(progress)
  }
  try {
    const passInput = { ...rest, account, concurrency, onProgress }
    const counts = await syncActivities(app.mirror, app.mirrorOptions, passInput)
    const failed = await begin()
    await app.mirror.vacuum.whenIdle()
    const states = await app.mirror.store.read((tx) => countByState(tx, account.accountId))
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
  app: SyncApp,
  input: Watched & { choice: ResyncChoice },
): Promise<FetchCounts & { marked: number }> {
  const { name, ...rest } = input
  const account = await beginPass(app, name)
  const { concurrency } = app.config.service
  const counts = await resyncActivities(app.mirror, app.mirrorOptions, { account, concurrency, ...rest })
  await app.mirror.vacuum.whenIdle()
  return counts
}

async function beginPass(app: SyncApp, name: string): Promise<Account> {
  const account = await accountToUse({ store: app.mirror.store, vault: app.vault }, name)
  // A run of a process that still lives writes its own end over this.
  const { accountId } = account
  await app.mirror.store.transaction((tx) =>
    recordRunsAbandoned(tx, { startedBefore: new Date(), accountId }),
  )
  await endPauses(app)
  return account
}

/** `sync` asks for the workout lists once a day, like the daemon; a little sooner, for one that runs at a fixed hour. */
const WORKOUTS_EVERY_MS = 20 * HOUR

/**
 * Mirrors training info and the workout of the day, and the workouts when they are due or `full` asks for it. Whatever
 * fails is logged and counted and stops nothing else; only an abort is thrown. Returns how many items failed.
 */
export async function syncTraining(
  app: Pick<App, 'mirror'>,
  input: { account: Account; full?: boolean; signal?: AbortSignal },
): Promise<number> {
  const { account, full = false, signal } = input
  const deps = app.mirror
  const mirrorInput = { account, ...(signal && { signal }) }
  const { accountId } = account
  const steps: Array<readonly [string, () => Promise<MirrorCounts>]> = [
    ['training info', () => mirrorTrainingInfo(deps, mirrorInput)],
  ]
  const since = new Date(deps.now().getTime() - WORKOUTS_EVERY_MS)
  if (full || !(await findWorkoutsMirrored(deps, { accountId, since }))) {
    steps.push(['workouts', () => mirrorWorkouts(deps, mirrorInput)])
  }
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
