import { completeMeasures } from '../../core/mirror/rebuild-activities.ts'
import { updateAllTimeZones } from '../../core/mirror/time-zones.ts'
import { errorLine, isAbort } from '../../kit/errors.ts'
import type { App } from '../app/app.ts'

/**
 * Completes derived rows of an older version in the background, from the stored samples. Only logs a failure, because the next start tries
 * again. `close` stops it.
 */
export function openCompletion({ mirror: { store, log } }: Pick<App, 'mirror'>): { close(): Promise<void> } {
  const halt = new AbortController()
  const complete = async () => {
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
