import { backoffMs } from '../kit/backoff.ts'
import {
  errorCode,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../kit/errors.ts'
import type { Upload, UploadChange } from '../store/uploads.ts'
import { AGAIN_BACKOFF, SEND_BACKOFF, SETTLE_FAILED_MS, SETTLE_MS } from './pauses.ts'

/**
 * Tells what a sending that failed becomes: `refused` when the service said no; `unconfirmed` when all of the body may have
 * arrived, so that it is looked for before anything is sent again; else `seen`, to be sent again after a growing pause.
 */
export function judgeFailure(input: {
  upload: Upload
  error: unknown
  bodyRead: boolean
  now: Date
}): UploadChange {
  const { upload, error, now } = input
  const reason = errorLine(error)
  const later = (ms: number) => new Date(now.getTime() + ms)
  if (error instanceof RejectedError) return { state: 'refused', reason, nextTryAt: againAfter(upload, now) }
  if (mayHaveArrived(error, input.bodyRead)) {
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

function mayHaveArrived(error: unknown, bodyRead: boolean): boolean {
  if (error instanceof UnexpectedResponseError) return true
  // The body's last bytes were refused by the system, so they never left: a service that answers early and hangs up.
  if (error instanceof TransientError) return error.requestSent && errorCode(error.cause) !== 'EPIPE'
  return isAbort(error) && bodyRead
}
