import { RejectedError } from '../kit/errors.ts'
import { parseUploadedPath } from '../service/service.ts'
import type { Account } from '../store/accounts.ts'
import { recordUploadSeen, recordUploadState, type Upload, type UploadKey } from '../store/uploads.ts'
import { findClaims } from '../store/uploads-due.ts'
import { recordAccepted } from './accept.ts'
import type { FitFile, UploadDeps } from './deps.ts'
import { judgeFailure } from './failure.ts'
import { leaseEnd, withLease } from './lease.ts'
import { settleRefusal } from './refusal.ts'

export type UploadInput = { account: Account; file: FitFile; name?: string; signal?: AbortSignal }

/** The ledger row after a try; `error` is why nothing was accepted, undefined also when nothing was sent. */
export type UploadTry = { upload: Upload; error: unknown }

/**
 * Uploads one file through the ledger (service document, endpoint 10): the row first, then the sending, then the row
 * again, and the new activity is wanted. Only a row that is `seen` and due is sent, and only by the one who moves it on;
 * any other is returned as it is. An answer lost after the whole body had left makes it `unconfirmed`, which is settled
 * by looking (settle.ts). Throws only what the database throws, and an error of musette's own.
 */
export async function uploadFit(deps: UploadDeps, input: UploadInput): Promise<UploadTry> {
  const { account, file } = input
  const key = { accountId: account.accountId, contentId: file.contentId }
  const claimed = await claim(deps, key, file)
  if (!claimed.mine) return { upload: claimed.upload, error: undefined }
  const { upload } = claimed
  const read = { whole: false }
  let path: string | null
  try {
    path = await withLease(deps, { ...key, attempts: upload.attempts }, () => send(deps, input, read))
  } catch (error) {
    return { upload: await recordFailure(deps, input, { upload, error, bodyRead: read.whole }), error }
  }
  return { upload: await accept(deps, upload, path), error: undefined }
}

async function claim(
  deps: UploadDeps,
  key: UploadKey,
  file: FitFile,
): Promise<{ upload: Upload; mine: boolean }> {
  const { fileName, sizeBytes, startedAt } = file
  const now = deps.now()
  // The row is on record by itself before anything else happens to it.
  const { upload } = await deps.store.transaction((tx) =>
    recordUploadSeen(tx, { ...key, fileName, sizeBytes, startedAt, seenAt: now }),
  )
  const sending = { state: 'sending' as const, sentAt: now, nextTryAt: leaseEnd(now), countAttempt: true }
  const mine = await deps.store.transaction((tx) =>
    recordUploadState(tx, key, sending, { from: ['seen'], dueAt: now }),
  )
  return mine ? { upload: mine, mine: true } : { upload, mine: false }
}

async function send(deps: UploadDeps, input: UploadInput, read: { whole: boolean }): Promise<string | null> {
  const { fileName, sizeBytes, open } = input.file
  const watched = () => {
    const stream = open()
    stream.once('end', () => {
      read.whole = true
    })
    return stream
  }
  const name = input.name === undefined ? {} : { name: input.name }
  const file = { fileName, sizeBytes, open: watched, ...name }
  const answer = await deps.serviceOf(input.account).uploadFit(file, input.signal)
  return parseUploadedPath(answer.value) ?? null
}

async function accept(deps: UploadDeps, upload: Upload, path: string | null): Promise<Upload> {
  const { accountId, contentId, fileName } = upload
  const now = deps.now()
  const accepted = await deps.store.transaction(async (tx) => {
    const claims = await findClaims(tx, upload, path === null ? [] : [path])
    return recordAccepted(tx, { upload, path, claims, now })
  })
  if (!accepted) throw new Error('the ledger row of an accepted upload is there')
  deps.log.info({ file: fileName, contentId, path, state: accepted.state }, 'file uploaded')
  const { activityId } = accepted
  if (activityId !== null && accepted.state === 'accepted') {
    await deps.onWanted?.({ accountId, activityId }).catch(() => undefined)
  }
  return accepted
}

async function recordFailure(
  deps: UploadDeps,
  input: UploadInput,
  failed: { upload: Upload; error: unknown; bodyRead: boolean },
): Promise<Upload> {
  const { upload, error } = failed
  const settled = error instanceof RejectedError && (await settleRefusal(deps, input, { upload, error }))
  if (settled) return settled
  const change = judgeFailure({ ...failed, now: deps.now() })
  const recorded = await deps.store.transaction((tx) =>
    recordUploadState(tx, upload, change, { from: ['sending'], attempts: upload.attempts }),
  )
  // An outage of hours is said once.
  const level = change.state === 'refused' ? 'error' : change.reason === upload.reason ? 'debug' : 'warn'
  deps.log[level](
    {
      file: upload.fileName,
      state: change.state,
      reason: change.reason,
      attempts: upload.attempts,
      err: error,
    },
    'file not uploaded',
  )
  return recorded ?? upload
}
