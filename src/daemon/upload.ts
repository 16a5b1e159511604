import { Readable } from 'node:stream'
import { parseFitActivity } from '../fit/activity.ts'
import { contentIdOf } from '../fit/content-id.ts'
import { findUpload, type Upload } from '../store/uploads.ts'
import { uploadFit } from '../upload/upload.ts'
import type { Daemon } from './daemon.ts'
import { accountNamed } from './sign-in.ts'

/** Uploads the bytes of a FIT file through the ledger; `find` reads its row again, to follow it into SQL. */
export async function uploadFile(
  daemon: Daemon,
  input: { account: string; fileName: string; bytes: Uint8Array; signal?: AbortSignal },
): Promise<Upload & { find(): Promise<Upload | undefined> }> {
  const { house, jobs } = daemon
  const { fileName, bytes } = input
  const account = await accountNamed(house, input.account)
  const parsed = parseFitActivity(bytes)
  const file = {
    fileName,
    contentId: contentIdOf(bytes),
    sizeBytes: bytes.length,
    startedAt: parsed.ok ? parsed.startedAt : null,
    open: () => Readable.from([Buffer.from(bytes)]),
  }
  const { accountId } = account
  const { contentId } = file
  const upload = await uploadFit(house.mirror, {
    account,
    file,
    ...(input.signal && { signal: input.signal }),
  })
  const { activityId } = upload
  if (activityId !== null)
    await jobs.enqueue('fetch-activity', [{ accountId, activityId }], { priority: 'new' })
  return { ...upload, find: () => house.store.read((tx) => findUpload(tx, { accountId, contentId })) }
}
