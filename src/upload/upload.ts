import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { Clock } from '../kit/clock.ts'
import { errorLine, RejectedError, TransientError, UnexpectedResponseError } from '../kit/errors.ts'
import { type AccountService, parseUploadedPath } from '../service/service.ts'
import type { Account } from '../store/accounts.ts'
import { upsertUploaded } from '../store/activities/uploaded.ts'
import type { Store } from '../store/store.ts'
import { recordUploadSeen, recordUploadState, type Upload, type UploadState } from '../store/uploads.ts'

export type UploadDeps = {
  store: Store
  serviceOf: (account: Account) => AccountService
  log: Logger
  now: Clock
}

/** A whole FIT activity to send; `contentId` is the SHA-256 of its bytes in hex, `open` reads it anew for each try. */
export type FitFile = {
  fileName: string
  contentId: string
  sizeBytes: number
  startedAt: Date | null
  open: () => Readable
}

/** States from which a file may be sent: never sent, or sent and known not to have arrived. */
const SENDABLE: readonly UploadState[] = ['seen']

/**
 * Uploads one file through the ledger (service document, endpoint 10): the row first, then the sending, then the row
 * again, and the new activity is wanted. A file the ledger knows is not sent again; its row is returned as it is. A
 * refusal ends as `refused` with the reason; an answer lost after the whole body had left ends as `unconfirmed`, and
 * neither that nor a failed connection (thrown, row back to `seen`) is ever answered by sending blindly.
 */
export async function uploadFit(
  deps: UploadDeps,
  input: { account: Account; file: FitFile; name?: string; signal?: AbortSignal },
): Promise<Upload> {
  const { account, file } = input
  const key = { accountId: account.accountId, contentId: file.contentId }
  const { fileName, sizeBytes, startedAt } = file
  const claimed = await deps.store.transaction(async (tx) => {
    const { upload } = await recordUploadSeen(tx, {
      ...key,
      fileName,
      sizeBytes,
      startedAt,
      seenAt: deps.now(),
    })
    const sending = await recordUploadState(
      tx,
      key,
      { state: 'sending', sentAt: deps.now(), countAttempt: true },
      SENDABLE,
    )
    return { upload: sending ?? upload, mine: sending !== undefined }
  })
  if (!claimed.mine) return claimed.upload
  try {
    const path = await send(deps, input)
    return await recordAccepted(deps, { account, contentId: file.contentId, path })
  } catch (error) {
    return recordSendFailure(deps, key, claimed.upload, error)
  }
}

async function send(
  deps: UploadDeps,
  input: { account: Account; file: FitFile; name?: string; signal?: AbortSignal },
): Promise<string | null> {
  const { fileName, sizeBytes, open } = input.file
  const file = { fileName, sizeBytes, open, ...(input.name !== undefined && { name: input.name }) }
  const answer = await deps.serviceOf(input.account).uploadFit(file, input.signal)
  return parseUploadedPath(answer.value) ?? null
}

async function recordAccepted(
  deps: UploadDeps,
  input: { account: Account; contentId: string; path: string | null },
): Promise<Upload> {
  const { accountId } = input.account
  const acceptedAt = deps.now()
  return deps.store.transaction(async (tx) => {
    const activityId = input.path
      ? await upsertUploaded(tx, { accountId, path: input.path, listedAt: acceptedAt })
      : null
    const change = {
      state: 'accepted' as const,
      activityPath: input.path,
      activityId,
      acceptedAt,
      reason: null,
    }
    const upload = await recordUploadState(tx, { accountId, contentId: input.contentId }, change)
    if (!upload) throw new Error('the ledger row of an accepted upload is there')
    return upload
  })
}

async function recordSendFailure(
  deps: UploadDeps,
  key: { accountId: number; contentId: string },
  upload: Upload,
  error: unknown,
): Promise<Upload> {
  const reason = errorLine(error)
  const lost =
    (error instanceof TransientError && error.requestSent) || error instanceof UnexpectedResponseError
  const state: UploadState = lost ? 'unconfirmed' : error instanceof RejectedError ? 'refused' : 'seen'
  const recorded = await deps.store.transaction((tx) =>
    recordUploadState(tx, key, { state, reason }, ['sending']),
  )
  deps.log.warn({ file: upload.fileName, state, reason }, 'upload did not go through')
  if (state === 'seen') throw error
  return recorded ?? upload
}
