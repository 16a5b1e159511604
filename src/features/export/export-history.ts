import type { HandlerResult } from '../../core/jobs/catalog.ts'
import { TransientError } from '../../kit/errors.ts'
import type { App } from '../../program/app/app.ts'
import { exportAll } from './export-all.ts'
import { exportSettings } from './settings.ts'

/** Exports the whole history into the folder of the configuration. Throws as exportAll does, and TransientError `export_no_folder`. */
export async function exportHistory(
  app: Pick<App, 'store' | 'config' | 'log'>,
  { signal }: { signal: AbortSignal },
): Promise<HandlerResult> {
  const { dir } = exportSettings.of(app.config)
  if (dir === undefined) throw noExportFolder()
  const counts = await exportAll(app, { dir, kind: 'schedule', signal })
  if (!counts || counts.written + counts.removed === 0) return undefined
  const { written, removed, samples, bytes } = counts
  return { counts: { written, removed, samples, bytes } }
}

/** Another worker may have the folder: the job is tried again, and may then reach that one. */
function noExportFolder(): TransientError {
  const message =
    'this worker has no folder for the export; set MUSETTE_EXPORT_DIR to the same folder for each process with the role worker'
  return new TransientError('export_no_folder', message)
}
