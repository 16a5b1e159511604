import type { Daemon } from '../../daemon/daemon.ts'
import { findStatus } from '../../daemon/status.ts'
import { uploadFile } from '../../daemon/upload.ts'
import { MINUTE } from '../../kit/durations.ts'
import { TransientError } from '../../kit/errors.ts'
import { sleep } from '../../kit/sleep.ts'
import { makeFitFile } from '../../sandbox/fit-file.ts'
import type { Context } from '../context.ts'
import { makeProgressLine } from '../progress.ts'

const LOOK_EVERY_MS = 200
/** The stand-in service makes samples in two seconds; this is for a machine that is very busy. */
const UPLOAD_WITHIN_MS = 2 * MINUTE
const UPLOAD_SECONDS = 20 * 60

/** Shows the backfill until every activity that the service lists is mirrored. */
export async function followBackfill(context: Context, daemon: Daemon, since: Date): Promise<void> {
  const line = makeProgressLine(context, 'activities')
  for (;;) {
    const { accounts } = await findStatus(daemon.house)
    const account = accounts[0]
    const polled = account?.polled_at && account.polled_at >= since
    if (account && polled) {
      const done = account.activities - account.wanted
      line.show({ done, total: account.activities })
      if (account.wanted === 0) {
        return line.finish(
          `mirrored ${account.mirrored} activities, ${account.samples.toLocaleString('en')} samples`,
        )
      }
    }
    await sleep(LOOK_EVERY_MS, context.signal)
  }
}

/** Uploads a FIT file made for this moment and follows it until its samples are in SQL. */
export async function followUpload(context: Context, daemon: Daemon): Promise<void> {
  const startedAt = new Date(Date.now() - UPLOAD_SECONDS * 1_000)
  const fileName = `demo-${startedAt.toISOString().replace(/[:.]/g, '-')}.fit`
  const bytes = makeFitFile({ startedAt, seconds: UPLOAD_SECONDS })
  const sent = await uploadFile(daemon, { account: 'default', fileName, bytes, signal: context.signal })
  context.note(
    `uploaded ${fileName} (${bytes.length} bytes): ${sent.state}, activity ${sent.activityPath ?? 'unknown'}`,
  )
  for (let waited = 0; waited < UPLOAD_WITHIN_MS; waited += LOOK_EVERY_MS) {
    const upload = await sent.find()
    if (upload?.mirroredAt && upload.acceptedAt) {
      const seconds = (upload.mirroredAt.getTime() - upload.acceptedAt.getTime()) / 1_000
      return context.note(`its samples are in SQL, ${seconds.toFixed(1)} s after the service accepted it`)
    }
    await sleep(LOOK_EVERY_MS, context.signal)
  }
  throw new TransientError('upload_not_mirrored', 'the upload has no samples yet; run: npx musette status')
}
