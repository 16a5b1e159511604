import type { Logger } from 'pino'
import {
  errorCode,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../kit/errors.ts'
import { backoffMs } from '../kit/time.ts'
import { parseUploadedPath } from '../service/service.ts'
import type { Account } from '../store/accounts.ts'
import type { Store } from '../store/store.ts'
import { findClaims } from '../store/uploads/upload-claims.ts'
import {
  recordUploadAlive,
  recordUploadSeen,
  recordUploadState,
  type Upload,
  type UploadChange,
  type UploadKey,
} from '../store/uploads/uploads.ts'
import { recordAccepted } from './accepted.ts'
import { settleRefusal } from './check-status.ts'
import {
  AGAIN_BACKOFF,
  type FitFile,
  LEASE_MS,
  LEASE_RENEW_MS,
  SEND_BACKOFF,
  SETTLE_FAILED_MS,
  SETTLE_MS,
  type UploadDeps,
} from './upload-deps.ts'

type UploadInput = { account: Account; file: FitFile; name?: string; signal?: AbortSignal }

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
  const body = { sent: false }
  let path: string | null
  try {
    path = await withLease(deps, { ...key, attempts: upload.attempts }, () => send(deps, input, body))
  } catch (error) {
    return { upload: await recordFailure(deps, input, { upload, error, bodySent: body.sent }), error }
  }
  return { upload: await accept(deps, upload, path), error: undefined }
}

async function claim(
  deps: UploadDeps,
  key: UploadKey,
  file: FitFile,
): Promise<{ upload: Upload; mine: boolean }> {
  const { fileName, bytes, startedAt } = file
  const now = deps.now()
  // The row is on record by itself before anything else happens to it.
  const { upload } = await deps.store.transaction((tx) =>
    recordUploadSeen(tx, { ...key, fileName, sizeBytes: bytes.length, startedAt, seenAt: now }),
  )
  const sending = { state: 'sending' as const, sentAt: now, nextTryAt: leaseEnd(now), countAttempt: true }
  const mine = await deps.store.transaction((tx) =>
    recordUploadState(tx, key, sending, { from: ['seen'], dueAt: now }),
  )
  return mine ? { upload: mine, mine: true } : { upload, mine: false }
}

async function send(deps: UploadDeps, input: UploadInput, body: { sent: boolean }): Promise<string | null> {
  const { fileName, bytes } = input.file
  const onSent = () => {
    body.sent = true
  }
  const name = input.name === undefined ? {} : { name: input.name }
  const file = { fileName, bytes, onSent, ...name }
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
  failed: { upload: Upload; error: unknown; bodySent: boolean },
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

/**
 * Tells what a sending that failed becomes: `refused` when the service said no; `unconfirmed` when all of the body may have
 * arrived, so that it is looked for before anything is sent again; else `seen`, to be sent again after a growing pause.
 */
function judgeFailure(input: { upload: Upload; error: unknown; bodySent: boolean; now: Date }): UploadChange {
  const { upload, error, now } = input
  const reason = errorLine(error)
  const later = (ms: number) => new Date(now.getTime() + ms)
  if (error instanceof RejectedError) return { state: 'refused', reason, nextTryAt: againAfter(upload, now) }
  if (mayHaveArrived(error, input.bodySent)) {
    const answered = error instanceof TransientError && error.code === 'server_error'
    const settleAfter = later(answered ? SETTLE_FAILED_MS : SETTLE_MS)
    return { state: 'unconfirmed', reason, settleAfter, nextTryAt: now, looks: 0 }
  }
  // A stop is nobody's fault and costs no pause.
  if (isAbort(error)) return { state: 'seen', reason: 'the sending was interrupted', nextTryAt: null }
  const pause = backoffMs(SEND_BACKOFF, upload.attempts)
  const waitMs = error instanceof RateLimitedError ? Math.max(error.retryAfterMs, pause) : pause
  return { state: 'seen', reason, nextTryAt: later(waitMs) }
}

/** A file moved back once is tried at once; one that comes back again and again waits longer each time. */
function againAfter(upload: Upload, now: Date): Date | null {
  if (upload.attempts <= 1) return null
  return new Date(now.getTime() + backoffMs(AGAIN_BACKOFF, upload.attempts - 1))
}

function mayHaveArrived(error: unknown, bodySent: boolean): boolean {
  if (error instanceof UnexpectedResponseError) return true
  // The body's last bytes were refused by the system, so they never left: a service that answers early and hangs up.
  if (error instanceof TransientError) return error.requestSent && errorCode(error.cause) !== 'EPIPE'
  return isAbort(error) && bodySent
}

/**
 * Runs `work` and says in the ledger now and then that the sender lives; a row whose sender has been silent for the lease
 * is taken over by others, who look for the activity before anything is sent again.
 */
async function withLease<T>(
  deps: { store: Store; log: Logger; now: () => Date },
  input: UploadKey & { attempts: number },
  work: () => Promise<T>,
): Promise<T> {
  const { accountId, contentId, attempts } = input
  const renew = () => {
    const until = leaseEnd(deps.now())
    deps.store
      .transaction((tx) => recordUploadAlive(tx, { accountId, contentId }, { attempts, until }))
      .catch((error: unknown) => deps.log.debug({ reason: errorLine(error) }, 'upload: lease not renewed'))
  }
  const timer = setInterval(renew, LEASE_RENEW_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/** When a sender that says nothing from now on counts as dead. */
function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}
