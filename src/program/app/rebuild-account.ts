import type { Logger } from 'pino'
import {
  completeMeasures,
  fitForms,
  type RebuildEnd,
  rebuildActivities,
} from '../../core/mirror/rebuild-activities.ts'
import type { Progress } from '../../core/mirror/sync-activities.ts'
import { updateAllTimeZones, updateTimeZones } from '../../core/mirror/time-zones.ts'
import {
  findRebuildItems,
  findRebuildProgress,
  type RebuildItem,
  type RebuildProgress,
  recordRebuildEnded,
  recordRebuildProgress,
} from '../../core/store/activities/raw-documents.ts'
import { recordRunsAbandoned, withRun } from '../../core/store/runs.ts'
import { makeSamplesVacuum } from '../../core/store/samples/vacuum.ts'
import type { Store } from '../../core/store/store.ts'
import { rebuildFit } from '../../core/upload/keep-fit.ts'
import { ConfigError } from '../../kit/errors.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { DAY, systemClock } from '../../kit/time.ts'
import type { Config } from '../config/config.ts'
import { accountNamed, type LocalApp, openLocalApp } from './local-app.ts'

export type RebuildCounts = Awaited<ReturnType<typeof rebuildAccount>>

/** The resource of a rebuild's row in sync_runs. */
const REBUILD = 'rebuild'
/**
 * How long after a stop a rebuild can continue, ms. After that time it starts from the beginning, because its results may have been damaged
 * since.
 */
const GOES_ON_WITHIN_MS = DAY

/**
 * Derives all values again from the stored answers of an account's activities, of `paths` or all, and from kept FIT files, without the
 * service. Continues a rebuild of this version that was stopped within the last day. Throws ConfigError `no_account` and `unknown_activity`,
 * TransientError if the database is unreachable, and the signal's reason.
 */
export async function rebuildAccount(
  app: Pick<LocalApp, 'store' | 'log'>,
  input: {
    name: string
    /** undefined: all */
    paths?: readonly string[] | undefined
    signal?: AbortSignal
    onProgress?: (progress: Progress) => void
  },
) {
  const { store, log } = app
  const { name, paths, signal, onProgress } = input
  const { accountId } = await accountNamed(app, name)
  const items = await store.read((tx) => findRebuildItems(tx, { accountId, paths }))
  if (paths) assertKnown(name, paths, items)
  const documents = items.filter(({ bytes }) => bytes !== null)
  const stopped = paths ? undefined : await findStopped(store, accountId)
  const isLeft = ({ activityId }: RebuildItem) =>
    !stopped || activityId > stopped.through || stopped.failed.includes(activityId)
  const todo = documents.filter(isLeft)
  const counts = {
    rebuilt: 0,
    /** samples of the rebuilt activities */
    samples: 0,
    /** activities for which a newer answer arrived during the rebuild */
    newer: 0,
    failures: [] as Array<{ path: string; reason: string }>,
    /** FIT files whose kept bytes were read again */
    fitFiles: 0,
    /** paths of activities without a stored answer, which stay as they are */
    withoutDocument: items.filter(({ bytes }) => bytes === null).map(({ path }) => path),
    /** activities that an earlier, stopped rebuild has done */
    earlier: documents.length - todo.length,
  }
  const keepProgress = paths ? undefined : progressRecorder(store, accountId, stopped)
  const vacuum = makeSamplesVacuum({ store, log })
  await store.transaction((tx) =>
    recordRunsAbandoned(tx, { startedBefore: new Date(), accountId, resource: REBUILD }),
  )
  await withRun(store, { accountId, resource: REBUILD, kind: 'by_hand' }, async (run) => {
    run.listed = todo.length
    const onEnds = async (ends: readonly RebuildEnd[], through: number) => {
      for (const end of ends) {
        if (end.result === 'failed') counts.failures.push({ path: end.item.path, reason: end.reason })
        else counts[end.result]++
        if (end.result === 'rebuilt') counts.samples += end.samples
      }
      run.changed = counts.rebuilt
      run.failed = counts.failures.length
      await keepProgress?.(ends, through)
      const done = counts.rebuilt + counts.newer + counts.failures.length
      onProgress?.({ done, total: todo.length, failed: counts.failures.length })
    }
    await rebuildActivities({ store, log, vacuum }, { items: todo, ...(signal && { signal }), onEnds })
    if (!paths) counts.fitFiles = await rebuildFit({ store, log, now: systemClock }, { accountId, signal })
    if (keepProgress) await store.transaction((tx) => recordRebuildEnded(tx, accountId))
    await updateTimeZones({ store, log }, { accountId, everyPlace: true })
    await completeMeasures({ store, log }, signal)
    await fitForms({ store }, [{ accountId }], signal)
  })
  await vacuum.whenIdle()
  return counts
}

/** Derives what an older version had not derived, in a migrated database: time zones, and measures from the samples. */
export async function completeMigrated(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  await closeAfter(await openLocalApp(config, log, signal), async (app) => {
    await updateAllTimeZones(app)
    await completeMeasures(app, signal)
    await fitForms(app, undefined, signal)
  })
}

function assertKnown(name: string, paths: readonly string[], items: readonly RebuildItem[]): void {
  const known = new Set(items.map(({ path }) => path))
  const missing = paths.filter((path) => !known.has(path))
  if (missing.length === 0) return
  const message =
    `account "${name}" has no activity ${missing.slice(0, 5).join(', ')}; ` +
    'to list the paths, run: musette sql "select path from training.activities"'
  throw new ConfigError('unknown_activity', message)
}

async function findStopped(store: Store, accountId: number): Promise<RebuildProgress | undefined> {
  const progress = await store.read((tx) => findRebuildProgress(tx, accountId))
  if (progress?.version !== VERSION) return undefined
  const agoMs = systemClock().getTime() - progress.startedAt.getTime()
  return agoMs >= 0 && agoMs < GOES_ON_WITHIN_MS ? progress : undefined
}

/** Returns a function that records the progress of a rebuild after each batch. */
function progressRecorder(store: Store, accountId: number, stopped: RebuildProgress | undefined) {
  const startedAt = stopped?.startedAt ?? systemClock()
  const failed = new Set(stopped?.failed)
  let through = stopped?.through ?? 0
  let recorded = Promise.resolve()
  return async (ends: readonly RebuildEnd[], doneThrough: number): Promise<void> => {
    for (const { item, result } of ends) {
      if (result === 'failed') failed.add(item.activityId)
      else failed.delete(item.activityId)
    }
    // An activity that failed in the stopped run is tried first and has a lower id, so the position must not move back.
    through = Math.max(through, doneThrough)
    const progress = { version: VERSION, startedAt, through, failed: [...failed] }
    // Records run one after the other, so that an earlier state is never recorded last.
    recorded = recorded.then(() => store.transaction((tx) => recordRebuildProgress(tx, accountId, progress)))
    await recorded
  }
}
