import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Daemon } from '../../daemon/daemon.ts'
import { findStatus } from '../../daemon/status.ts'
import { findUploadOf } from '../../daemon/upload.ts'
import { MINUTE } from '../../kit/durations.ts'
import { TransientError } from '../../kit/errors.ts'
import { sleep } from '../../kit/sleep.ts'
import { makeFitFile } from '../../sandbox/fit-file.ts'
import type { Context } from '../context.ts'
import { makeProgressLine, type ProgressLine } from '../progress.ts'

const LOOK_EVERY_MS = 200
/** The stand-in service makes samples in two seconds; this is for a machine that is very busy. */
const UPLOAD_WITHIN_MS = 2 * MINUTE
const UPLOAD_SECONDS = 20 * 60

/** Shows the backfill until every activity that the service lists is mirrored. */
export async function followBackfill(context: Context, daemon: Daemon, since: Date): Promise<void> {
  const line = makeProgressLine(context, 'activities')
  try {
    await showUntilMirrored(line, { context, daemon, since })
  } finally {
    line.close()
  }
}

async function showUntilMirrored(
  line: ProgressLine,
  { context, daemon, since }: { context: Context; daemon: Daemon; since: Date },
): Promise<void> {
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

/** Drops a FIT file made for this moment into the watched folder and follows it until its samples are in SQL. */
export async function followUpload(context: Context, daemon: Daemon): Promise<void> {
  const { dir } = daemon.house.config.drop
  const startedAt = new Date(Date.now() - UPLOAD_SECONDS * 1_000)
  const fileName = `demo-${startedAt.toISOString().replace(/[:.]/g, '-')}.fit`
  const bytes = makeFitFile({ startedAt, seconds: UPLOAD_SECONDS })
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, `${fileName}.part`), bytes)
  await rename(join(dir, `${fileName}.part`), join(dir, fileName))
  context.note(`dropped ${fileName} (${bytes.length} bytes) into ${dir}`)
  const seconds = await followLedger(context, daemon, bytes)
  context.note(`its samples are in SQL, ${seconds.toFixed(1)} s after it was seen`)
  context.note(`the file is now ${await findMoved(context, dir, fileName)}`)
}

/** Shows each state of the file in the ledger once, until its activity is mirrored; returns how many seconds that took. */
async function followLedger(context: Context, daemon: Daemon, bytes: Uint8Array): Promise<number> {
  let shown: string | undefined
  for (let waited = 0; waited < UPLOAD_WITHIN_MS; waited += LOOK_EVERY_MS) {
    const upload = await findUploadOf(daemon.house, { account: 'default', bytes })
    if (upload && upload.state !== shown) {
      shown = upload.state
      context.note(`ledger: ${shown}${upload.activityPath ? `, activity ${upload.activityPath}` : ''}`)
    }
    if (upload?.mirroredAt) return (upload.mirroredAt.getTime() - upload.seenAt.getTime()) / 1_000
    await sleep(LOOK_EVERY_MS, context.signal)
  }
  throw new TransientError('upload_not_mirrored', 'the upload has no samples yet; run: npx musette status')
}

async function findMoved(context: Context, dir: string, fileName: string): Promise<string> {
  for (let waited = 0; waited < UPLOAD_WITHIN_MS; waited += LOOK_EVERY_MS) {
    const names = await readdir(join(dir, 'done'), { recursive: true }).catch(() => [])
    const name = names.find((path) => path.endsWith(fileName))
    if (name) return join(dir, 'done', name)
    await sleep(LOOK_EVERY_MS, context.signal)
  }
  return join(dir, fileName)
}
