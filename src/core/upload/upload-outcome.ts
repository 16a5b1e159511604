import {
  errorCode,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../kit/errors.ts'
import { quoteName, quoteText } from '../../kit/text.ts'
import { type Backoff, backoffMs, DAY, MINUTE, SECOND } from '../../kit/time.ts'
import { recordAbsent } from '../store/activities/upsert-listed.ts'
import type { Tx } from '../store/store.ts'
import {
  type Claims,
  recordUploadState,
  type Upload,
  type UploadChange,
  type UploadState,
  upsertUploaded,
} from '../store/uploads/uploads.ts'

/** Backoff before a file is sent again, with few attempts during a long outage and a quick attempt after its end. */
const SEND_BACKOFF: Backoff = { firstMs: 5 * SECOND, maxMs: 15 * MINUTE, factor: 3 }
/** Backoff before a repeatedly refused file is sent again after it was moved back into the drop folder. */
const REFUSED_BACKOFF: Backoff = { firstMs: 20 * SECOND, maxMs: 1 * DAY, factor: 4 }
/** How long after a lost response an activity may still appear in the list; it usually takes seconds. */
export const UNCONFIRMED_MS = 15 * MINUTE
/** Like UNCONFIRMED_MS, but after a 5xx: the service was reached and has usually not accepted the file. */
const UNCONFIRMED_AFTER_5XX_MS = 15 * SECOND
/** Maximum difference between our clock and the database's when their times are compared. */
const CLOCKS_WITHIN_MS = 1 * MINUTE
/** Delay before the first check of an accepted file whose activity cannot be fetched. */
const FIRST_CHECK_MS = 10 * SECOND
export const OPEN_STATES: readonly UploadState[] = ['seen', 'sending', 'unconfirmed']

/**
 * Records that the service accepted content as the activity `path` (null if the response has none), and marks the activity as wanted. If the
 * activity came from another content, or was mirrored before the file was seen, the row becomes a `duplicate` of it. Returns undefined if
 * another process has already recorded a result.
 */
export async function recordAccepted(
  tx: Tx,
  input: { upload: Upload; path: string | null; claims: Claims; now: Date },
): Promise<Upload | undefined> {
  const { upload, path, claims, now } = input
  const { accountId } = upload
  const acceptedAt = upload.acceptedAt ?? now
  const nextTryAt = new Date(now.getTime() + FIRST_CHECK_MS)
  const looked = { acceptedAt, activityPath: path, checks: 0, resendAfter: null, reason: null, nextTryAt }
  if (path === null) {
    const unnamed = { ...looked, state: 'accepted' as const, activityId: null }
    return recordUploadState(tx, upload, unnamed, { from: OPEN_STATES })
  }
  const from = [...OPEN_STATES, 'accepted', 'mirrored'] as const
  const known = claims.known.get(path)
  const twin = describeTwin(input, path)
  if (twin !== undefined) return recordDuplicate(tx, { ...input, path, reason: twin }, { acceptedAt })
  if (known?.complete) {
    const end = { ...looked, activityId: known.activityId, mirroredAt: now, nextTryAt: null }
    return recordUploadState(tx, upload, { ...end, state: 'mirrored' }, { from })
  }
  const activityId = await upsertUploaded(tx, { accountId, path, listedAt: now })
  return recordUploadState(
    tx,
    upload,
    { ...looked, state: 'accepted', activityId, mirroredAt: null },
    { from },
  )
}

/** Records that the service already has the content as an activity that did not come from this file. */
export async function recordDuplicate(
  tx: Tx,
  input: { upload: Upload; path: string; reason: string; claims: Claims; now: Date },
  more: { acceptedAt?: Date } = {},
): Promise<Upload | undefined> {
  const { upload, path, reason, claims, now } = input
  const { accountId } = upload
  const activityId =
    claims.known.get(path)?.activityId ?? (await upsertUploaded(tx, { accountId, path, listedAt: now }))
  const end = { activityPath: path, activityId, reason, checks: 0, resendAfter: null, nextTryAt: null }
  return recordUploadState(tx, upload, { ...end, ...more, state: 'duplicate' })
}

/** Reports whether an activity can come from this file: the activity appeared after the file was seen, and came from no other content. */
export function isNew(upload: Upload, claims: Claims, path: string): boolean {
  if (claims.claimed.has(path)) return false
  const known = claims.known.get(path)
  return !known || known.firstSeenAt.getTime() >= upload.seenAt.getTime() - CLOCKS_WITHIN_MS
}

/** Marks an upload's former activity as absent, so that it is no longer fetched. */
export async function recordReplaced(tx: Tx, input: { upload: Upload; path: string; now: Date }) {
  const { accountId, activityId, activityPath } = input.upload
  if (activityId === null || activityPath === input.path) return
  await recordAbsent(tx, { accountId, activityIds: [activityId], absentSince: input.now })
}

function describeTwin(input: { upload: Upload; claims: Claims }, path: string): string | undefined {
  const { upload, claims } = input
  const file = claims.claimed.get(path)
  if (file !== undefined)
    return `the service shows it as activity ${quoteName(path)}, which came from ${quoteText(file)}`
  if (path === upload.activityPath || isNew(upload, claims, path)) return undefined
  return `the service shows it as activity ${quoteName(path)}, which it had before`
}

/**
 * Decides a row's state after a failed request: `refused` if the service refused the file; `unconfirmed` if the whole body may have arrived,
 * to be checked before it is sent again; otherwise `seen`, to be sent again after a growing pause. Pure.
 */
export function judgeFailure(input: {
  upload: Upload
  error: unknown
  bodySent: boolean
  now: Date
}): UploadChange {
  const { upload, error, now } = input
  const reason = errorLine(error)
  const later = (ms: number) => new Date(now.getTime() + ms)
  if (error instanceof RejectedError)
    return { state: 'refused', reason, nextTryAt: refusedUntil(upload, now) }
  if (mayHaveArrived(error, input.bodySent)) {
    const answered = error instanceof TransientError && error.code === 'server_error'
    const resendAfter = later(answered ? UNCONFIRMED_AFTER_5XX_MS : UNCONFIRMED_MS)
    return { state: 'unconfirmed', reason, resendAfter, nextTryAt: now, checks: 0 }
  }
  // A stop of the daemon causes no pause.
  if (isAbort(error)) return { state: 'seen', reason: 'the upload was interrupted', nextTryAt: null }
  const pause = backoffMs(SEND_BACKOFF, upload.attempts)
  const waitMs = error instanceof RateLimitedError ? Math.max(error.retryAfterMs, pause) : pause
  return { state: 'seen', reason, nextTryAt: later(waitMs) }
}

/** Returns until when a refused file is not sent again. It is sent at once the first time it is moved back, later after growing pauses. */
function refusedUntil(upload: Upload, now: Date): Date | null {
  if (upload.attempts <= 1) return null
  return new Date(now.getTime() + backoffMs(REFUSED_BACKOFF, upload.attempts - 1))
}

function mayHaveArrived(error: unknown, bodySent: boolean): boolean {
  if (error instanceof UnexpectedResponseError) return true
  // EPIPE: the last bytes were never sent, because the service answered early and closed the connection.
  if (error instanceof TransientError) return error.requestSent && errorCode(error.cause) !== 'EPIPE'
  return isAbort(error) && bodySent
}
