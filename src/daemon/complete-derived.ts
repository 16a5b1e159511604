import type { App } from '../app/app.ts'
import { errorLine, isAbort } from '../kit/errors.ts'
import { completeMeasures } from '../mirror/complete-measures.ts'
import { rebuildActivities } from '../mirror/rebuild-activities.ts'
import { updateAllTimeZones } from '../mirror/time-zones.ts'
import { findIncomplete, recordRefetchOfIncomplete } from '../store/activities/refetch.ts'

/**
 * Completes derived rows that a process of an older version has written, beside the other work: from the stored answers, and
 * activities without one are fetched again; measures from the samples that are here. A failure is only logged, because the next
 * start tries again. `close` stops it.
 */
export function openCompletion({ mirror: { store, vacuum, log, now } }: Pick<App, 'mirror'>): {
  close(): Promise<void>
} {
  const halt = new AbortController()
  const complete = async () => {
    const items = await store.read(findIncomplete)
    if (items.length > 0) {
      log.warn({ activities: items.length }, 'activities that an older musette wrote are rebuilt')
      await rebuildActivities({ store, vacuum, log }, { items, signal: halt.signal, onEnds: () => undefined })
    }
    const refetched = await store.transaction((tx) => recordRefetchOfIncomplete(tx, { wantedAt: now() }))
    if (refetched > 0)
      log.warn({ activities: refetched }, 'activities that cannot be rebuilt are fetched again')
    await updateAllTimeZones({ store, log })
    await completeMeasures({ store, log }, halt.signal)
  }
  const completing = complete().catch((error: unknown) => {
    if (!isAbort(error, halt.signal)) log.error({ reason: errorLine(error) }, 'derived rows are not complete')
  })
  return {
    close: async () => {
      halt.abort()
      await completing
    },
  }
}
