import type { Logger } from 'pino'
import type { MirrorDeps, OnWorkouts } from '../../core/mirror/mirror.ts'
import { recordHomeOfOthers } from '../../core/mirror/time-zones.ts'
import { openService, type Service, type ServiceObserver } from '../../core/service/service.ts'
import { pruneDrift } from '../../core/store/drift.ts'
import { pruneChanges } from '../../core/store/feed/change-rows.ts'
import { recordPausesEnded } from '../../core/store/pauses.ts'
import { pruneRuns } from '../../core/store/runs.ts'
import { makeSamplesVacuum } from '../../core/store/samples/vacuum.ts'
import { makeSharedPace } from '../../core/store/shared-pace.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { makeReleaseStack } from '../../kit/release-stack.ts'
import { type Sleep, systemClock } from '../../kit/time.ts'
import type { Config } from '../config/config.ts'
import { type LocalApp, openLocalApp } from './local-app.ts'
import type { Preparation } from './open-database.ts'

/** The parts that verbs and daemon share; `close` stops the parts in reverse order. */
export type App = LocalApp & {
  service: Service
  mirror: MirrorDeps
}

/** The part of a feature that an App uses. */
export type WorkoutsFeature = Readonly<{
  /** makes the function that the feature runs on mirrored workouts; undefined if the settings disable the feature */
  openOnWorkouts?(app: LocalApp): Promise<OnWorkouts | undefined>
}>

/**
 * Opens what openLocalApp opens, and the service client; sets up an empty database, unless `preparation` says otherwise. Throws as
 * openLocalApp does. The `signal` cancels only the opening. The `observer` is called for every request to the service. `longestPauseMs`,
 * `byHand` and `sleep` are options of the service client. The `features` handle mirrored workouts.
 */
export async function openApp<Features extends readonly WorkoutsFeature[]>(
  config: Config,
  log: Logger,
  options: {
    signal?: AbortSignal
    observer?: ServiceObserver | undefined
    longestPauseMs?: number
    byHand?: boolean
    preparation?: Preparation
    sleep?: Sleep
    features: Features
  },
): Promise<App & { features: Features }> {
  const release = makeReleaseStack((step, error) => log.error({ error, step }, 'could not stop a part'))
  try {
    const local = await openLocalApp(config, log, options.signal, options.preparation ?? 'set-up')
    release.defer('local parts', () => local.close())
    // If the variable is not set, clear nothing, because a command may run without the variable while the daemon has it.
    if (config.timezone !== undefined) await recordHomeOfOthers({ store: local.store, log }, config.timezone)
    const { store, vault } = local
    const { observer, sleep, longestPauseMs, byHand, features } = options
    const { concurrency, requestsPerMinute } = config.service
    const service = openService(
      { vault, log, observer, sleep, sharedPace: makeSharedPace(store) },
      {
        ...{ concurrency, requestsPerMinute, longestPauseMs, byHand, proxies: config.proxies },
        userAgent: `musette/${VERSION}`,
      },
    )
    release.defer('service', () => service.close())
    const onWorkouts = await Promise.all(features.map((feature) => feature.openOnWorkouts?.(local)))
    return {
      ...local,
      features,
      service,
      mirror: {
        store,
        serviceOf: service.forAccount,
        listDefaultWorkouts: service.listDefaultWorkouts,
        onWorkouts: onWorkouts.filter((each) => each !== undefined),
        vacuum: makeSamplesVacuum({ store, log }),
        log,
        now: systemClock,
        options: config.mirror,
      },
      close: () => release.release(),
    }
  } catch (error) {
    await release.release().catch(() => undefined)
    throw error
  }
}

/** Ends the pauses that were recorded while this machine's clock was ahead, and logs their number. */
export async function endPauses({
  mirror: { store, log, now, options },
}: Pick<App, 'mirror'>): Promise<void> {
  const pauses = await store.transaction((tx) => recordPausesEnded(tx, { now: now(), lagMs: options.lagMs }))
  if (pauses > 0) log.warn({ pauses }, 'ended pauses that were recorded while the clock was ahead')
}

/**
 * Deletes a bounded number of old rows: an account's bookkeeping rows, and rows of drift and of the change feed. Returns the number of
 * deleted rows.
 */
export async function pruneBookkeeping(
  { store }: Pick<LocalApp, 'store'>,
  accountId: number,
): Promise<number> {
  return store.transaction(
    async (tx) => (await pruneRuns(tx, { accountId })) + (await pruneDrift(tx)) + (await pruneChanges(tx)),
  )
}
