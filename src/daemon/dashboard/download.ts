import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { App } from '../../app/app.ts'
import { exportActivity } from '../../app/export/export-activity.ts'
import { findActivityFacts } from '../../store/dashboard/activity-page.ts'
import type { Download, DownloadFormat } from '../../web/dashboard/dashboard-types.ts'

/**
 * Opens the download of an activity's samples, which goes on as fast as it is read, until `signal`. Returns undefined when
 * there is no such activity, and the reason when it has no samples.
 */
export async function openDownload(
  app: Pick<App, 'store'>,
  input: { activityId: number; format: DownloadFormat; signal: AbortSignal },
): Promise<Download | { missing: string } | undefined> {
  const { activityId, format, signal } = input
  const facts = await app.store.read((tx) => findActivityFacts(tx, activityId))
  if (!facts) return undefined
  if (format === 'fit' && !facts.has_fit)
    return { missing: `the FIT file of activity ${facts.path} is not kept here` }
  if (format !== 'fit' && !facts.sample_count)
    return { missing: `activity ${facts.path} has no samples here` }
  const content = new PassThrough()
  const write = async (piece: string | Uint8Array) => {
    if (!content.write(piece)) await once(content, 'drain', { signal })
  }
  // Its end, good or bad, is the end of the stream: a download that breaks off must not look whole.
  exportActivity(app, { name: facts.account, path: facts.path, format, write, signal }).then(
    (missing) => (missing === undefined ? content.end() : content.destroy(new Error(missing))),
    (error: unknown) => content.destroy(error instanceof Error ? error : new Error(String(error))),
  )
  return { fileName: `${facts.path.replace(/[^\w.-]/g, '_')}.${format}`, content }
}
